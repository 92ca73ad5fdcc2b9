import type { Transform, TransformCallback } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ImapFlow } from 'imapflow'
import type { ImapResponse, ImapStreamItem } from 'imapflow/lib/handler/types.js'
import { ProviderFailure } from '../failure.ts'
import { AnswerBudget } from './answer-budget.ts'
import { cutAnswer } from './answer-line.ts'
import { EventLoopShare } from './event-loop-share.ts'
import { type ExpectedAnswers, LINE_BYTES } from './expected-answers.ts'
import { FetchReader } from './fetch-reader.ts'

/** One per process, as there is one event loop. */
const share = new EventLoopShare()

export interface AnswerGuard {
  /** Sets the answers that the next command may bring; null when it has ended. */
  expect(expected: ExpectedAnswers | null): void
  /** Counts the untagged answers so far that were too long to be read. */
  countLeftOut(): number
}

/** The stream through which everything from the server reaches imapflow's parser: bytes in, answers out. */
interface AnswerStream extends Transform {
  push(answer: ImapStreamItem | null): boolean
}

/** The parts of imapflow that its types leave out. */
interface ClientParts {
  /** STARTTLS does not replace it. */
  streamer: AnswerStream
  /** The command in progress, with its handlers of answers. */
  currentRequest:
    | false
    | { options: { untagged?: Record<string, (answer: ImapResponse) => void | Promise<void>> } }
}

/**
 * Stands between the socket of a client and its parser. Limits what a server may send, and how much of the event loop
 * reading it may take. A server that exceeds its budget is read slowly, then its connection is ended. FETCH answers to a
 * command are read here and handed to its handler, past the parser. Must be called before the client connects.
 */
export function guardAnswers(client: ImapFlow): AnswerGuard {
  const parts = client as unknown as ClientParts
  const stream = parts.streamer
  const fetchHandler = () => (parts.currentRequest ? parts.currentRequest.options.untagged?.['FETCH'] : null)
  const reader = new FetchReader(() => Boolean(fetchHandler()))
  const budget = new AnswerBudget()
  const push = stream.push.bind(stream)
  const transform = stream._transform.bind(stream)
  let lineBytesMax = LINE_BYTES
  let leftOut = 0
  let bytesBeingRead = 0
  // imapflow stops listening when it closes, and an error of the stream may just be on its way.
  stream.on('error', () => {})

  const fail = (message: string) => void stream.destroy(new ProviderFailure('unavailable', message))
  /**
   * @returns null if reading may continue at once, otherwise what to wait for; the stream may be destroyed then
   */
  const admit = (answers: number, bytes: number): Promise<void> | null => {
    const waitMs = budget.charge(answers, bytes)
    if (waitMs === null) {
      fail('The server sends more than was asked for.')
      return Promise.resolve()
    }
    return waitMs === 0 ? share.enter(stream) : waitFor(waitMs)
  }
  const waitFor = async (ms: number) => {
    const closed = new AbortController()
    const end = () => closed.abort()
    if (stream.closed) end()
    stream.once('close', end)
    await sleep(ms, null, { signal: closed.signal, ref: false }).catch(() => {})
    stream.off('close', end)
    await share.enter(stream)
  }

  const hand = async (answer: ImapResponse) => {
    const wait = admit(1, 0)
    if (wait) await wait
    if (stream.destroyed) return
    try {
      await fetchHandler()?.(answer)
    } catch {
      // imapflow, too, goes on after a handler that failed.
    }
  }
  const read = async (chunk: Buffer, encoding: BufferEncoding) => {
    const passOn = (bytes: Buffer) =>
      new Promise<void>(resolve => transform(bytes, encoding, () => resolve()))
    bytesBeingRead = chunk.length
    for (const part of reader.read(chunk)) {
      if (stream.destroyed) return
      await (Buffer.isBuffer(part) ? passOn(part) : hand(part))
    }
  }
  stream._transform = (chunk: Buffer, encoding: BufferEncoding, done: TransformCallback) => {
    const end = (error?: Error) => {
      bytesBeingRead = 0
      done(error)
    }
    const wait = admit(0, chunk.length)
    const reading = wait ? wait.then(() => read(chunk, encoding)) : read(chunk, encoding)
    reading.then(() => end(), end)
  }
  stream.on('unpipe', () => {
    // Whatever waits here would be read after the handshake of STARTTLS, as if it had come over TLS.
    if (stream.writableLength > bytesBeingRead) fail('The server says more than it may before the handshake.')
  })

  const handOver = async (answer: ImapStreamItem, pieces: readonly Buffer[]) => {
    for (const [at, payload] of pieces.entries()) {
      await admit(1, 0)
      if (stream.destroyed) return
      if (at === pieces.length - 1) return void push({ ...answer, payload })
      const { promise, resolve } = Promise.withResolvers<void>()
      push({ ...answer, payload, next: resolve })
      await promise
    }
    leftOut++
    await admit(1, 0)
    answer.next()
  }
  stream.push = answer => {
    if (!answer) return push(answer)
    const pieces = cutAnswer(answer.payload, lineBytesMax)
    if (!pieces) fail('The server sends a line that is too long.')
    else if (pieces.length !== 1 || pieces[0] !== answer.payload) void handOver(answer, pieces)
    else {
      const wait = admit(1, 0)
      if (!wait) return push(answer)
      void wait.then(() => stream.destroyed || push(answer))
    }
    return true
  }

  return {
    expect(expected) {
      budget.grant(expected)
      lineBytesMax = expected?.lineBytes ?? LINE_BYTES
    },
    countLeftOut: () => leftOut,
  }
}
