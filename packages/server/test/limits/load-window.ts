import { setTimeout as sleep } from 'node:timers/promises'
import type { Count } from '../../src/limits/windows.ts'

/** Between the answer to a client and its next request. */
const PAUSE_MILLISECONDS = 2

/** A request that was counted on a window, with the time of this machine before and after. */
export interface Asked {
  from: number
  to: number
  /** Null if it was not counted. */
  count: Pick<Count, 'isAccepted' | 'remaining'> | null
}

/** Lets clients ask again and again, for some time and until there is enough to judge. */
export async function loadWindow(
  ask: () => Count | null | Promise<Count | null>,
  {
    clients,
    milliseconds,
    isEnough,
  }: { clients: number; milliseconds: number; isEnough: (asked: readonly Asked[]) => boolean },
): Promise<Asked[]> {
  const asked: Asked[] = []
  let hasEnough = false
  const end = performance.now() + milliseconds
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end || !(hasEnough ||= isEnough(asked))) {
        const from = Date.now()
        const count = await ask()
        asked.push({ from, to: Date.now(), count })
        await sleep(PAUSE_MILLISECONDS)
      }
    }),
  )
  return asked
}

/** Whether a request was refused by a window that is known. */
export function hasRefusal(asked: readonly Asked[], milliseconds: number): boolean {
  return asked.some(one => one.count?.isAccepted === false && isOfOneWindow(one, milliseconds))
}

export function isOfOneWindow({ from, to }: Asked, milliseconds: number): boolean {
  return windowAt(from, milliseconds) === windowAt(to, milliseconds)
}

export function windowAt(time: number, milliseconds: number): number {
  return Math.floor(time / milliseconds)
}
