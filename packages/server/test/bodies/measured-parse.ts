import { getHeapStatistics } from 'node:v8'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { openMessageParser, type ParsedMessage } from '../../src/kit/mime/message-parser.ts'

/* Parses a message in a thread as the service does, and measures time and memory. */

const PIECE_BYTES = 256 * 1024
const MEGABYTE = 1024 * 1024

export interface Measured {
  message: ParsedMessage
  /** Processor time of the thread alone, so that other work on the machine does not count. */
  cpuMs: number
  /** The peak of heap and buffers at the end of a piece, including garbage. */
  memoryMb: number
}

/** @throws if the heap grows beyond `heapMbMax`, even briefly */
export async function measureParse(raw: Buffer, heapMbMax: number): Promise<Measured> {
  const shared = Buffer.from(new SharedArrayBuffer(raw.length))
  raw.copy(shared)
  const worker = new Worker(new URL(import.meta.url), {
    workerData: shared,
    resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
  })
  try {
    return await new Promise<Measured>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  } finally {
    await worker.terminate()
  }
}

function measure(raw: Uint8Array): Measured {
  const held = () => (getHeapStatistics().used_heap_size + process.memoryUsage().external) / MEGABYTE
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

if (parentPort && workerData instanceof Uint8Array) parentPort.postMessage(measure(workerData), [])
