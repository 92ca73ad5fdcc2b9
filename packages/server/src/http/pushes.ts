import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PushReceiver } from '../kit/push-receiver.ts'
import type { AnswerHeaders } from './answer.ts'
import { declaresTooMuch, readBytes } from './read-body.ts'

/** A push of a provider, with its sockets. */
export interface PushExchange {
  request: Request
  headers: AnswerHeaders
  incoming: IncomingMessage
  outgoing: ServerResponse
}

/** An echo is not longer, since its text comes from the request. */
export const ECHO_CHARACTERS_MAX = 1024
const ECHOED = new RegExp(`^[\\x20-\\x7e]{1,${ECHO_CHARACTERS_MAX}}$`)

/** Bytes of bodies that are read at the same time. A push beyond them is refused, and the provider sends it again. */
const BODIES_BYTES_MAX = 32 * 1024 * 1024

/** Bodies of pushes that this process reads now. Anybody may send one, so together they are bounded. */
export class PushBodies {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number = BODIES_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** Returns the body, or the status of its refusal. */
  async read(incoming: IncomingMessage, bodyBytesMax: number): Promise<Buffer | number> {
    let held = 0
    try {
      const onPiece = (piece: Buffer) => {
        held += piece.length
        this.#bytes += piece.length
        if (this.#bytes > this.#bytesMax) throw new NoRoom()
      }
      return (await readBytes(incoming, bodyBytesMax, { onPiece })) ?? 413
    } catch (error) {
      // Otherwise the sender left, or was too slow.
      return error instanceof NoRoom ? 503 : 400
    } finally {
      this.#bytes -= held
    }
  }
}

class NoRoom extends Error {}

/** Answers the pushes of a provider, without a word of why one was refused. It tries again after all but a success. */
export async function servePush(
  receiver: PushReceiver,
  bodies: PushBodies,
  { request, headers, incoming, outgoing }: PushExchange,
): Promise<Response> {
  const answer = (status: number, more: AnswerHeaders = {}) =>
    new Response(null, { status, headers: { ...headers, ...more } })
  if (request.method !== 'POST') return answer(405, { allow: 'POST' })
  const { bodyBytesMax, needsAuthorization, takenStatus } = receiver
  if (needsAuthorization && !request.headers.has('authorization')) return answer(401)
  if (declaresTooMuch(request.headers, bodyBytesMax)) return answer(413)
  if (request.headers.has('expect') && incoming.httpVersion !== '1.0') outgoing.writeContinue()
  const body = await bodies.read(incoming, bodyBytesMax)
  if (typeof body === 'number') return answer(body)
  const outcome = await receiver.receive({
    header: name => request.headers.get(name),
    query: new URL(request.url).searchParams,
    body: body.toString(),
  })
  if (outcome === 'taken') return answer(takenStatus)
  if (outcome === 'forged') return answer(401)
  if (outcome === 'unavailable') return answer(503)
  if (!ECHOED.test(outcome.echo)) return answer(400)
  return new Response(outcome.echo, { status: 200, headers: { ...headers, 'content-type': 'text/plain' } })
}
