import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { openMessageParser, type ParsedMessage } from '../../src/kit/mime/message-parser.ts'

/* Parses messages in a thread as the service does, and measures time and memory. */

const PIECE_BYTES = 256 * 1024
const MEGABYTE = 1024 * 1024

export interface Measured {
  message: ParsedMessage
  /** Processor time of the thread alone, so that other work on the machine does not count. */
  cpuMs: number
  /** The peak of heap and buffers at the end of a piece, including garbage. */
  memoryMb: number
}

export interface MeasuringThread extends AsyncDisposable {
  /** @throws if the heap grows beyond its limit, even briefly; the next message gets another thread */
  parse(raw: Buffer): Promise<Measured>
}

/** Opens a thread that parses one message after the other, each from a heap without garbage. */
export function openMeasuringThread(heapMbMax: number): MeasuringThread {
  let worker: Worker | null = null
  const open = () =>
    new Worker(new URL(import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: heapMbMax } })
  return {
    async parse(raw) {
      const thread = (worker ??= open())
      const shared = Buffer.from(new SharedArrayBuffer(raw.length))
      raw.copy(shared)
      const { promise, resolve, reject } = Promise.withResolvers<Measured>()
      const fail = (error: Error) => {
        worker = null
        reject(error)
      }
      thread.once('message', resolve).once('error', fail)
      thread.postMessage(shared, [])
      try {
        return await promise
      } finally {
        thread.off('message', resolve).off('error', fail)
      }
    },
    [Symbol.asyncDispose]: async () => void (await worker?.terminate()),
  }
}

function measure(raw: Uint8Array): Measured {
  const held = () => (getHeapStatistics().used_heap_size + process.memoryUsage().external) / MEGABYTE
  collectGarbage()
  const before = held()
  const begun = process.threadCpuUsage()
  const parser = openMessageParser()
  let memoryMb = 0
  for (let at = 0; at < raw.length; at += PIECE_BYTES) {
    parser.push(Buffer.from(raw.subarray(at, at + PIECE_BYTES)))
    memoryMb = Math.max(memoryMb, held() - before)
  }
  const message = parser.end()
  memoryMb = Math.max(memoryMb, held() - before)
  const { user, system } = process.threadCpuUsage(begun)
  return { message, cpuMs: (user + system) / 1000, memoryMb }
}

/** The function that Node.js has only if it is asked for: what one message leaves must not count as the next one's. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

if (!isMainThread && parentPort) {
  const port = parentPort
  port.on('message', (raw: Uint8Array) => port.postMessage(measure(raw), []))
}
