import type { Socket } from 'node:net'

export interface Pace {
  latencyMs?: number
  bytesPerSecond?: number
}

/** How much goes out at once where the bandwidth is limited. */
const SLICES_PER_SECOND = 20

/** Writes to a socket in order, with the present delay and speed of `pace`. */
export function openPacedWriter(socket: Socket, pace: () => Pace) {
  let last: Promise<void> | null = null
  const enqueue = (action: () => Promise<void> | void) => {
    const mine = runAfter(last, action)
    last = mine
    void mine.finally(() => {
      if (last === mine) last = null
    })
  }

  return {
    write(bytes: Buffer) {
      const { latencyMs = 0, bytesPerSecond = 0 } = pace()
      if (last === null && latencyMs === 0 && bytesPerSecond === 0) {
        socket.write(bytes)
        return
      }
      const due = Date.now() + latencyMs
      enqueue(async () => {
        await wait(due - Date.now())
        await writeSlowly(socket, bytes, bytesPerSecond)
      })
    },
    /** Runs once all that was written before is on its way. */
    afterwards(action: () => void) {
      if (last === null) action()
      else enqueue(action)
    },
  }
}

async function runAfter(before: Promise<void> | null, action: () => Promise<void> | void) {
  await before
  await action()
}

async function writeSlowly(socket: Socket, bytes: Buffer, bytesPerSecond: number) {
  const slice = bytesPerSecond > 0 ? Math.max(1, Math.ceil(bytesPerSecond / SLICES_PER_SECOND)) : bytes.length
  for (let at = 0; at < bytes.length && !socket.destroyed; at += slice) {
    const piece = bytes.subarray(at, at + slice)
    socket.write(piece)
    if (bytesPerSecond > 0) await wait((piece.length / bytesPerSecond) * 1000)
  }
}

function wait(ms: number) {
  return ms > 0 ? new Promise<void>(resolve => setTimeout(resolve, ms)) : Promise.resolve()
}
