import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PushOutcome, PushReceiver } from '../kit/push-receiver.ts'
import type { AnswerHeaders } from './answer.ts'
import { declaresTooMuch, readBytes } from './read-body.ts'

/** A push of a provider, with its sockets. */
export interface PushExchange {
  request: Request
  headers: AnswerHeaders
  incoming: IncomingMessage
  outgoing: ServerResponse
}

/** Statuses of the answers. The provider tries again after all but a success. */
const STATUSES: Record<PushOutcome, number> = { taken: 204, forged: 401, unavailable: 503 }

/** Answers the pushes of a provider, without a word of why one was refused. */
export async function servePush(
  receiver: PushReceiver,
  { request, headers, incoming, outgoing }: PushExchange,
): Promise<Response> {
  const answer = (status: number, more: AnswerHeaders = {}) =>
    new Response(null, { status, headers: { ...headers, ...more } })
  if (request.method !== 'POST') return answer(405, { allow: 'POST' })
  const authorization = request.headers.get('authorization')
  if (authorization === null) return answer(401)
  const { bodyBytesMax } = receiver
  if (declaresTooMuch(request.headers, bodyBytesMax)) return answer(413)
  if (request.headers.has('expect') && incoming.httpVersion !== '1.0') outgoing.writeContinue()
  const body = await readBytes(incoming, bodyBytesMax)
  if (body === null) return answer(413)
  return answer(STATUSES[await receiver.receive({ authorization, body: body.toString() })])
}
