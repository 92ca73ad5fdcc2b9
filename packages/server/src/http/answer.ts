import { STATUS_CODES } from 'node:http'
import type { Issue, Reason } from '@waxwing/contract/reasons.ts'
import { type RefusalBody, presentRefusal } from '../door/refusals.ts'
import { Refusal } from '../calls/refuse.ts'
import { ReadyPage } from '../kit/ready-page.ts'

/** Headers of the answer to one request. */
export type AnswerHeaders = Record<string, string>

/** Errors of the protocol itself. They are not reasons of the interface, so `defined` is false. */
const PROTOCOL_ERRORS = {
  bad_request: { status: 400, message: 'The request is not valid HTTP.' },
  not_found: {
    status: 404,
    message: 'There is nothing at this path. See /v1/openapi.json for what there is.',
  },
  method_not_allowed: { status: 405, message: 'The path does not take this method. See Allow.' },
  unsupported_media_type: {
    status: 415,
    message: 'Send the body as Content-Type: application/json, in UTF-8 and without Content-Encoding.',
  },
} as const
export type ProtocolError = keyof typeof PROTOCOL_ERRORS

/** The body of an error that is not a reason of the interface. */
export interface ErrorBody {
  defined: false
  code: string
  status: number
  message: string
}

const BASE_HEADERS: AnswerHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Returns the headers of every answer to a request, including those for CORS. */
export function headersFor(requestId: string, cors: AnswerHeaders): AnswerHeaders {
  return { ...BASE_HEADERS, 'x-request-id': requestId, ...cors }
}

export function answerJson(headers: AnswerHeaders, status: number, body: unknown): Response {
  const content = body instanceof ReadyPage ? body.toBytes() : JSON.stringify(body)
  return new Response(content, { status, headers })
}

export function answerReason(headers: AnswerHeaders, reason: Reason, data?: { issues: Issue[] }): Response {
  return answerRefusal(headers, new Refusal(reason, data, {}))
}

export function answerRefusal(headers: AnswerHeaders, refusal: Refusal): Response {
  const { retryAfterSeconds } = refusal
  const retry: AnswerHeaders =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterSeconds)) }
  return answerError({ ...headers, ...retry }, presentRefusal(refusal))
}

export function answerProtocolError(headers: AnswerHeaders, code: ProtocolError): Response {
  return answerError(headers, protocolError(code))
}

/** The body of an error that repeats the meaning of its HTTP status. */
export function protocolError(code: ProtocolError): ErrorBody {
  return { defined: false, code, ...PROTOCOL_ERRORS[code] }
}

/** The body of an error that the listener answers without the app. Its message is the status's phrase by default. */
export function errorOfStatus(status: number, message?: string): ErrorBody {
  const phrase = STATUS_CODES[status] ?? 'Bad Request'
  return {
    defined: false,
    code: phrase.toLowerCase().replaceAll(' ', '_'),
    status,
    message: message ?? `${phrase}.`,
  }
}

function answerError(headers: AnswerHeaders, error: ErrorBody | RefusalBody): Response {
  // RFC 9110 section 15.5.2: a 401 names the scheme.
  const challenge: AnswerHeaders = error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  return answerJson({ ...headers, ...challenge }, error.status, error)
}
