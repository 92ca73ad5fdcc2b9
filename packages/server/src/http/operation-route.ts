import type { Exchange } from './exchange.ts'
import type { AnyProcedure } from '@orpc/server'
import { BODY_BYTES_MAX } from '@waxwing/contract/operation.ts'
import type { Issue } from '@waxwing/contract/reasons.ts'
import { type Download, EVENT_STREAM, type EventStream } from '@waxwing/contract/shapes.ts'
import type { AdmittedCall, Answer } from '../door/call.ts'
import { type Door, type OpenOperation, openOperation } from '../door/open-operation.ts'
import { overloaded } from '../door/refusals.ts'
import { refuse } from '../calls/refuse.ts'
import type { Logger } from '../kit/log.ts'
import type { MemoryRoom } from '../kit/memory-room.ts'
import type { Count } from '../limits/windows.ts'
import { afterSending } from './after-sending.ts'
import { type AnswerHeaders, answerJson, answerProtocolError, answerReason, answerRefusal } from './answer.ts'
import { answerDownload } from './answer-download.ts'
import { answerStream } from './answer-stream.ts'
import { bearerOf } from './bearer.ts'
import { fingerprintOf } from './fingerprint.ts'
import { goneSignal } from './gone-signal.ts'
import {
  type Body,
  type BodyBytes,
  bodyBytesAtMost,
  declaresTooMuch,
  parseBody,
  readBody,
} from './read-body.ts'
import { readQuery } from './read-query.ts'

export type ServeOperation = (exchange: Exchange) => Promise<Response>

/** Serves one operation over HTTP. The door decides; this reads from the request what the door asks for. */
export function serveOperation(procedure: AnyProcedure, door: Door, largeBodies: MemoryRoom): ServeOperation {
  const operation = openOperation(procedure, door)

  return async exchange => {
    const { request, requestId, client, params, headers, outgoing, stopping } = exchange
    if (declaresTooMuch(request.headers, operation.meta.bodyBytesMax)) {
      return answerReason(headers, 'payload_too_large')
    }
    const credential = bearerOf(request.headers)
    const admission = await operation.admit({
      requestId,
      surface: operation.meta.session === null ? 'v1' : 'hosted',
      client: client.group,
      ip: client.address,
      userAgent: request.headers.get('user-agent'),
      credential,
      params,
      ifMatch: request.headers.get('if-match'),
      lastEventId: request.headers.get('last-event-id'),
      gone: () => goneSignal(outgoing, stopping),
    })
    if (admission.rate) showRate(headers, admission.rate)
    try {
      if (admission.outcome === 'refused') return answerRefusal(headers, admission.refusal)
      const bytes = bodyBytesAtMost(request.headers, operation.meta)
      if (bytes <= BODY_BYTES_MAX) return await answerAdmitted(exchange, operation, admission, door.log)
      using room = await largeBodies.enter(admission.tenantId, bytes)
      if (!room) return answerRefusal(headers, overloaded())
      return await answerAdmitted(exchange, operation, admission, door.log)
    } finally {
      // A handler continues after its client has left, so both must have ended.
      afterSending(outgoing, admission.end)
    }
  }
}

async function answerAdmitted(
  exchange: Exchange,
  { meta }: OpenOperation,
  admitted: AdmittedCall,
  log: Logger,
): Promise<Response> {
  const { request, headers, incoming, outgoing } = exchange
  const read = meta.method === 'GET' ? noBody() : await readBody(request.headers, incoming, outgoing, meta)
  if (read.outcome !== 'read') {
    const { reason, answer } = answerUnread(headers, read)
    const refusal = await admitted.recordRefusal({ status: answer.status, reason })
    return refusal ? answerRefusal(headers, refusal) : answer
  }

  const key = request.headers.get('idempotency-key')
  const answer = await admitted.run({
    readInput() {
      const { body } = read
      // The parsed body is kept until the end of the call, its text is not.
      read.body = null
      return readInput(request.url, body)
    },
    key: key === null ? null : { text: key, fingerprint: () => fingerprintOf(request, read.body) },
  })
  if (answer.outcome !== 'done' || meta.produces === null)
    return toResponse(answer, headers, meta.successStatus)
  Object.assign(headers, answer.headers)
  if (meta.produces === EVENT_STREAM) return answerStream(answer.output as EventStream, exchange, log)
  return answerDownload(answer.output as Download, exchange, log).catch((error: unknown) =>
    answerRefusal(headers, admitted.refusalOf(error)),
  )
}

/** The answer to a request whose body cannot be read, and its reason. */
function answerUnread(headers: AnswerHeaders, body: Exclude<Body, { outcome: 'read' }>) {
  if (body.outcome === 'unsupported') {
    const reason = 'unsupported_media_type'
    return { reason, answer: answerProtocolError(headers, reason) }
  }
  const reason = body.outcome === 'too_large' ? 'payload_too_large' : 'invalid_input'
  const data = body.outcome === 'invalid' ? { issues: body.issues } : undefined
  return { reason, answer: answerReason(headers, reason, data) }
}

function noBody(): Body & { outcome: 'read' } {
  return { outcome: 'read', body: null }
}

function toResponse(answer: Answer, headers: AnswerHeaders, successStatus: number): Response {
  if (answer.outcome === 'refused') return answerRefusal(headers, answer.refusal)
  Object.assign(headers, answer.headers)
  if (answer.outcome === 'done') return answerJson(headers, successStatus, answer.output)
  if (answer.isReplayed) headers['idempotent-replayed'] = 'true'
  return new Response(answer.text, { status: answer.status, headers })
}

function readInput(url: string, body: BodyBytes | null): { query: unknown; body: unknown } {
  const parsed = parseBody(body)
  if (parsed.outcome === 'invalid') return refuseInput(parsed.issues)
  const { query, issues } = readQuery(url)
  if (issues.length > 0) refuseInput(issues)
  return { query, body: parsed.value }
}

function refuseInput(issues: Issue[]): never {
  return refuse('invalid_input', { issues })
}

function showRate(headers: AnswerHeaders, { limit, remaining, resetSeconds }: Count): void {
  headers['ratelimit-limit'] = String(limit)
  headers['ratelimit-remaining'] = String(remaining)
  headers['ratelimit-reset'] = String(resetSeconds)
}
