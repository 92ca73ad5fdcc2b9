import type { Writable } from 'node:stream'
import { ProviderFailure, restate } from '../failure.ts'
import type { CommandArguments, LiteralContent } from './command.ts'

/** Time for a server to take the written bytes. */
const TAKING_MS_MAX = 120_000

/** The size of a literal, at the end of a command line (RFC 9051 section 4.3). */
export function literalSize({ byteLength }: LiteralContent): CommandArguments[number] {
  return { type: 'TEXT', value: `{${byteLength}}` }
}

export interface LiteralSender {
  /** Sends the content once the server has requested it, without waiting for its end. */
  begin(): void
  /** The command has ended. If the content was not yet sent, the connection has to end. */
  end(): void
  /** Throws if the command succeeded without the content, which the server cannot have then. */
  requireSent(): void
  /** The failure of the command: without the whole content, the server certainly carried out nothing. */
  describe(failure: ProviderFailure): ProviderFailure
}

export interface LiteralSenderOptions {
  literal: LiteralContent
  socket: Writable
  close(): void
  /** Pauses the watch for silence, since the server sends nothing while it receives the content. */
  pauseWatch(): () => void
}

export function openLiteralSender(options: LiteralSenderOptions): LiteralSender {
  const { literal, socket, close, pauseWatch } = options
  let state: 'waiting' | 'sending' | 'sent' | 'ended' = 'waiting'
  let fault: ProviderFailure | null = null

  const send = async () => {
    const resume = pauseWatch()
    try {
      let left = literal.byteLength
      for await (const piece of literal.open()) {
        left -= piece.length
        if (left < 0) throw new RangeError('the content is longer than was said')
        if (state !== 'sending') return
        await write(socket, piece)
      }
      if (left > 0) throw new RangeError('the content is shorter than was said')
      if (state !== 'sending') return
      state = 'sent'
      socket.write('\r\n')
    } catch (cause) {
      if (cause instanceof ProviderFailure) fault = cause
      else fault = new ProviderFailure('unavailable', 'The content of the message cannot be read.', { cause })
      // A literal cannot be given up in any other way.
      close()
    } finally {
      resume()
    }
  }
  return {
    begin() {
      if (state !== 'waiting') return
      state = 'sending'
      void send()
    },
    end() {
      if (state === 'sending') close()
      if (state !== 'sent') state = 'ended'
    },
    requireSent() {
      if (state === 'sent') return
      throw new ProviderFailure('unavailable', 'The server claims to have a message before it was sent.')
    },
    describe(failure) {
      return state === 'sent' ? failure : restate(fault ?? failure, { isBeforeAcceptance: true })
    },
  }
}

/** Writes a piece, and waits until there is room for the next one. */
async function write(socket: Writable, piece: Uint8Array): Promise<void> {
  if (socket.destroyed) throw new ProviderFailure('unavailable', 'The connection to the server ended.')
  if (socket.write(piece)) return
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const lost = () => reject(new ProviderFailure('unavailable', 'The connection to the server ended.'))
  const timer = setTimeout(
    () => reject(new ProviderFailure('unavailable', 'The server stopped taking what is sent to it.')),
    TAKING_MS_MAX,
  )
  socket.once('drain', resolve)
  socket.once('close', lost)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    socket.off('drain', resolve)
    socket.off('close', lost)
  }
}
