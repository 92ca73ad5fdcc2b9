import type { Transform, TransformCallback } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ImapFlow } from 'imapflow'
import type { ImapResponse, ImapStreamItem } from 'imapflow/lib/handler/types.js'
import { ProviderFailure } from '../failure.ts'
import { AnswerBudget } from './answer-budget.ts'
import { cutAnswer } from './answer-line.ts'
import { EventLoopShare } from '../../kit/event-loop-share.ts'
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
 * Inserts a guard between the socket of a client and its parser. It limits the bytes that a server may send, and the
 * share of the event loop that reading them may take. A server that exceeds its budget is read slowly, then its
 * connection is ended. FETCH answers to a command are read here and handed to its handler, past the parser. Must be
 * called before the client connects.
 */
export function guardAnswers(client: ImapFlow): AnswerGuard {
  return new StreamGuard(client)
}

/** A class, since thousands of idle accounts keep one each, and share its methods. */
class StreamGuard implements AnswerGuard {
  readonly #parts: ClientParts
  readonly #stream: AnswerStream
  readonly #reader = new FetchReader(() => Boolean(this.#fetchHandler))
  readonly #budget = new AnswerBudget()
  /** The methods of the stream before they were replaced. */
  readonly #push: AnswerStream['push']
  readonly #transform: AnswerStream['_transform']
  #lineBytesMax = LINE_BYTES
  #leftOut = 0
  #bytesBeingRead = 0

  constructor(client: ImapFlow) {
    this.#parts = client as unknown as ClientParts
    const stream = this.#parts.streamer
    this.#stream = stream
    this.#push = stream.push
    this.#transform = stream._transform
    // imapflow stops listening when it closes, and an error of the stream may just be on its way.
    stream.on('error', () => {})
    stream._transform = (chunk: Buffer, encoding, done) => this.#takeChunk(chunk, encoding, done)
    stream.push = answer => this.#takeAnswer(answer)
    stream.on('unpipe', () => {
      // Bytes that wait here would be read after the handshake of STARTTLS, as if they had come over TLS.
      if (stream.writableLength > this.#bytesBeingRead)
        this.#fail('The server says more than it may before the handshake.')
    })
  }

  expect(expected: ExpectedAnswers | null): void {
    this.#budget.grant(expected)
    this.#lineBytesMax = expected?.lineBytes ?? LINE_BYTES
  }

  countLeftOut(): number {
    return this.#leftOut
  }

  get #fetchHandler() {
    const { currentRequest } = this.#parts
    return currentRequest ? currentRequest.options.untagged?.['FETCH'] : null
  }

  #fail(message: string): void {
    this.#stream.destroy(new ProviderFailure('unavailable', message))
  }

  /**
   * @returns null if reading may continue at once, otherwise a promise to wait for; the stream may be destroyed then
   */
  #admit(answers: number, bytes: number): Promise<void> | null {
    const waitMs = this.#budget.charge(answers, bytes)
    if (waitMs === null) {
      this.#fail('The server sends more than was asked for.')
      return Promise.resolve()
    }
    return waitMs === 0 ? share.enter(this.#stream) : this.#waitFor(waitMs)
  }

  async #waitFor(ms: number): Promise<void> {
    const stream = this.#stream
    const closed = new AbortController()
    const end = () => closed.abort()
    if (stream.closed) end()
    stream.once('close', end)
    await sleep(ms, null, { signal: closed.signal, ref: false }).catch(() => {})
    stream.off('close', end)
    await share.enter(stream)
  }

  #takeChunk(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    const end = (error?: Error) => {
      this.#bytesBeingRead = 0
      done(error)
    }
    const wait = this.#admit(0, chunk.length)
    const reading = wait ? wait.then(() => this.#read(chunk, encoding)) : this.#read(chunk, encoding)
    reading.then(() => end(), end)
  }

  async #read(chunk: Buffer, encoding: BufferEncoding): Promise<void> {
    const passOn = (bytes: Buffer) =>
      new Promise<void>(resolve => this.#transform.call(this.#stream, bytes, encoding, () => resolve()))
    this.#bytesBeingRead = chunk.length
    for (const part of this.#reader.read(chunk)) {
      if (this.#stream.destroyed) return
      await (Buffer.isBuffer(part) ? passOn(part) : this.#hand(part))
    }
  }

  async #hand(answer: ImapResponse): Promise<void> {
    const wait = this.#admit(1, 0)
    if (wait) await wait
    if (this.#stream.destroyed) return
    try {
      await this.#fetchHandler?.(answer)
    } catch {
      // imapflow, too, goes on after a handler that failed.
    }
  }

  #takeAnswer(answer: ImapStreamItem | null): boolean {
    if (!answer) return this.#pushOn(answer)
    const pieces = cutAnswer(answer.payload, this.#lineBytesMax)
    if (!pieces) this.#fail('The server sends a line that is too long.')
    else if (pieces.length !== 1 || pieces[0] !== answer.payload) void this.#handOver(answer, pieces)
    else {
      const wait = this.#admit(1, 0)
      if (!wait) return this.#pushOn(answer)
      void wait.then(() => this.#stream.destroyed || this.#pushOn(answer))
    }
    return true
  }

  async #handOver(answer: ImapStreamItem, pieces: readonly Buffer[]): Promise<void> {
    for (const [at, payload] of pieces.entries()) {
      await this.#admit(1, 0)
      if (this.#stream.destroyed) return
      if (at === pieces.length - 1) return void this.#pushOn({ ...answer, payload })
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#pushOn({ ...answer, payload, next: resolve })
      await promise
    }
    this.#leftOut++
    await this.#admit(1, 0)
    answer.next()
  }

  #pushOn(answer: ImapStreamItem | null): boolean {
    return this.#push.call(this.#stream, answer)
  }
}
