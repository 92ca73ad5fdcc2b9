import type { Transform, TransformCallback } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ImapFlow } from 'imapflow'
import type { ImapStreamItem } from 'imapflow/lib/handler/types.js'
import { ProviderFailure } from '../failure.ts'
import { AnswerBudget } from './answer-budget.ts'
import { cutAnswer } from './answer-line.ts'
import { EventLoopShare } from './event-loop-share.ts'
import { type ExpectedAnswers, LINE_BYTES } from './expected-answers.ts'

/** One per process, as there is one event loop. */
const share = new EventLoopShare()

export interface AnswerGuard {
  /** Sets the answers that the next command may bring; null when it has ended. */
  expect(expected: ExpectedAnswers | null): void
  /** Number of untagged answers so far that were too long to be read. */
  readonly leftOut: number
}

/** The stream through which everything from the server reaches imapflow's parser: bytes in, answers out. */
interface AnswerStream extends Transform {
  push(answer: ImapStreamItem | null): boolean
}

/**
 * Stands between the socket of a client and its parser. Limits what a server may send, and how much of the event loop
 * reading it may take. A server that exceeds its budget is read slowly, then its connection is ended. Must be called
 * before the client connects.
 */
export function guardAnswers(client: ImapFlow): AnswerGuard {
  // imapflow's types leave it out; STARTTLS does not replace it.
  const { streamer: stream } = client as unknown as { streamer: AnswerStream }
  const budget = new AnswerBudget()
  const closed = new AbortController()
  const push = stream.push.bind(stream)
  const transform = stream._transform.bind(stream)
  let lineBytesMax = LINE_BYTES
  let leftOut = 0
  let bytesBeingRead = 0
  stream.once('close', () => closed.abort())

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
    await sleep(ms, null, { signal: closed.signal, ref: false }).catch(() => {})
    await share.enter(stream)
  }

  const read = (chunk: Buffer, encoding: BufferEncoding, done: TransformCallback) => {
    if (stream.destroyed) return done()
    bytesBeingRead = chunk.length
    transform(chunk, encoding, error => {
      bytesBeingRead = 0
      done(error)
    })
  }
  stream._transform = (chunk: Buffer, encoding: BufferEncoding, done: TransformCallback) => {
    const wait = admit(0, chunk.length)
    if (wait) void wait.then(() => read(chunk, encoding, done))
    else read(chunk, encoding, done)
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
    get leftOut() {
      return leftOut
    },
  }
}
