import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnswerHeaders } from './answer.ts'
import type { Client } from './client-address.ts'

/** A request for an operation, with its sockets for body and answer. */
export interface Exchange {
  request: Request
  requestId: string
  client: Client
  params: Record<string, string>
  /** Headers of the answer, whatever its outcome. Checks on the way add to them. */
  headers: AnswerHeaders
  /** The source of the body, and the destination of the answer. */
  incoming: IncomingMessage
  outgoing: ServerResponse
  /** Aborts when the process stops. */
  stopping: AbortSignal
}
