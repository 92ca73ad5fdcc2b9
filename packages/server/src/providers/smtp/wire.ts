import { isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { ProviderFailure } from '../failure.ts'
import { toFailure, toTlsFailure } from './failure.ts'
import { type Reply, ReplyReader, tooMuch } from './reply.ts'

const CLOSE_SECONDS = 2

/**
 * One connection as replies in and lines out. It is destroyed at the first reply without a command, so a server can
 * cost one reply at most. Each wait has a time of its own, which arriving bytes do not extend.
 */
export class SmtpWire {
  #socket: Socket
  #reader = new ReplyReader()
  #replies: Reply[] = []
  /** Replies that are still to come. The greeting is the first. */
  #expected = 1
  #failure: ProviderFailure | null = null
  #changed = Promise.withResolvers<void>()
  isGivenUp = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#listen(socket)
  }

  get isOpen(): boolean {
    return this.#failure === null && this.#socket.writable && !this.hasReply
  }

  /** Whether a reply has come that was not read. */
  get hasReply(): boolean {
    return this.#replies.length > 0
  }

  /** Sends command lines without their line ends. Each is answered by one reply. */
  ask(...lines: string[]): void {
    this.#expected += lines.length
    if (this.#failure) return
    this.#socket.write(lines.map(line => `${line}\r\n`).join(''))
  }

  /** Announces that a reply may come that belongs to no line, such as the one to the content. */
  expectReply(): void {
    this.#expected++
  }

  /** The next reply. Rejects with `ProviderFailure`. */
  async read(seconds: number): Promise<Reply> {
    await this.#wait(seconds, () => this.#replies.length > 0)
    const reply = this.#replies.shift()
    if (!reply) throw this.#failure ?? tooMuch()
    return reply
  }

  async command(line: string, seconds: number): Promise<Reply> {
    this.ask(line)
    return this.read(seconds)
  }

  /** Sends bytes that no reply belongs to; returns when more may be sent, or a reply has come. */
  async send(bytes: Uint8Array | string, seconds: number): Promise<void> {
    if (this.#failure) throw this.#failure
    if (this.#socket.write(bytes)) return
    const drained = () => this.#wake()
    this.#socket.once('drain', drained)
    await this.#wait(seconds, () => !this.#socket.writableNeedDrain || this.hasReply)
    this.#socket.removeListener('drain', drained)
    if (this.#failure && !this.hasReply) throw this.#failure
  }

  /**
   * Switches the connection to TLS. Ends it if the server sent bytes before the handshake, since nothing protected them.
   */
  async secure(host: string, authorities: SecureContext | undefined, seconds: number): Promise<void> {
    const plain = this.#socket
    if (this.#reader.hasRest || this.hasReply) this.destroy(tooMuch())
    if (this.#failure) throw this.#failure
    for (const event of ['data', 'end', 'close', 'error']) plain.removeAllListeners(event)
    plain.on('error', () => {})
    const socket: TLSSocket = connectTls({
      socket: plain,
      host,
      ...(isIP(host) ? {} : { servername: host }),
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(authorities && { secureContext: authorities }),
    })
    this.#socket = socket
    this.#reader = new ReplyReader()
    let isSecure = false
    socket.once('secureConnect', () => {
      isSecure = true
      this.#wake()
    })
    socket.once('error', error => this.destroy(isSecure ? toFailure(error) : toTlsFailure(error)))
    this.#listen(socket)
    await this.#wait(seconds, () => isSecure)
    if (!isSecure) throw this.#failure ?? tooMuch()
  }

  /** Ends the connection for a reason of ours, as opposed to one of the server. */
  giveUp(message: string): void {
    this.isGivenUp = true
    this.destroy(new ProviderFailure('unavailable', message, { isBeforeAcceptance: true }))
  }

  /** Ends the connection; a pending wait rejects with the reason. */
  destroy(failure: ProviderFailure): void {
    this.#failure ??= failure
    this.#socket.destroy()
    this.#wake()
  }

  /** Takes leave, and waits a moment for the server to close. */
  async close(): Promise<void> {
    if (this.isOpen) {
      this.#expected++
      const closed = new Promise<void>(resolve => this.#socket.once('close', () => resolve()))
      this.#socket.end('QUIT\r\n')
      const timer = setTimeout(() => this.#socket.destroy(), CLOSE_SECONDS * 1000)
      await closed
      clearTimeout(timer)
    }
    this.destroy(lost())
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const reply of this.#reader.read(chunk)) this.#take(reply)
      } catch (error) {
        this.destroy(toFailure(error))
      }
    })
    socket.on('error', error => this.destroy(toFailure(error)))
    socket.on('close', () => this.destroy(lost()))
    socket.on('end', () => this.destroy(lost()))
  }

  #take(reply: Reply): void {
    if (this.#failure) return
    // RFC 5321 section 3.8: a server that shuts down may send 421 at any time.
    if (this.#expected === 0 && reply.code !== 421) throw tooMuch()
    if (this.#expected > 0) this.#expected--
    this.#replies.push(reply)
    this.#wake()
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Waits for a condition or the end of the connection; destroys it if neither comes in time. */
  async #wait(seconds: number, isDone: () => boolean): Promise<void> {
    const timer = setTimeout(() => this.destroy(tooSlow(seconds)), Math.max(0, seconds) * 1000)
    try {
      while (!isDone() && !this.#failure) await this.#changed.promise
    } finally {
      clearTimeout(timer)
    }
  }
}

function lost(): ProviderFailure {
  return new ProviderFailure('unavailable', 'The server closed the connection.')
}

export function tooSlow(seconds: number): ProviderFailure {
  return new ProviderFailure(
    'unavailable',
    `The server did not answer within ${Math.round(seconds)} seconds.`,
  )
}
