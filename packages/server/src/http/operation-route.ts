import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AnyProcedure, ORPCError, Procedure, ValidationError, call } from '@orpc/server'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { Download } from '@waxwing/contract/shapes.ts'
import type { Issue, Reason } from '@waxwing/contract/reasons.ts'
import type { Db } from '../database/pool.ts'
import { findShortage } from '../database/shortage.ts'
import { DatabaseUnavailable } from '../database/unavailable.ts'
import type { RequestContext, Services } from '../features/context.ts'
import type { Authenticator, Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { FailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { Refusal, refuse } from '../features/refuse.ts'
import { type AnswerHeaders, answerJson, answerProtocolError, answerReason, answerRefusal } from './answer.ts'
import { type KeepAnswer, answerOnce } from './answer-once.ts'
import { answerDownload } from './answer-download.ts'
import { authenticateRequest } from './authenticate-request.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { type InFlight, IN_FLIGHT_RETRY_SECONDS, afterSending } from './in-flight.ts'
import { issuesOf } from './input-issues.ts'
import { overloadRetrySeconds } from './overload.ts'
import { whyForbidden } from './permissions.ts'
import { type WindowStore, countRequest, refuseSpent } from './rate-windows.ts'
import { type BodyBytes, declaresTooMuch, parseBody, readBody } from './read-body.ts'
import { readQuery } from './read-query.ts'

/** What the door needs to serve operations. */
export interface Door {
  db: Db
  services: Services
  authenticator: Authenticator
  brake: FailureBrake
  windows: WindowStore
  inFlight: InFlight
  idempotencyKeys: IdempotencyKeys
  /**
   * Whether answers are checked against the contract, and a reason that an operation does not declare is a fault. For
   * tests and development: in production the check would cost a read as much as its SQL.
   */
  isStrict: boolean
}

/** A request as it comes to an operation, with what was found out on the way. */
export interface Arrival {
  request: Request
  requestId: string
  client: string
  params: Record<string, string>
  /** Headers of the answer, whatever it is. Checks on the way add to them. */
  headers: AnswerHeaders
  /** Where the body comes from, and where the answer is written. */
  incoming: IncomingMessage
  outgoing: ServerResponse
}

export type ServeOperation = (arrival: Arrival) => Promise<Response>

/** Serves one operation: checks in the order that the interface promises, then calls its handler. */
export function serveOperation(declared: AnyProcedure, door: Door): ServeOperation {
  const procedure = door.isStrict ? declared : withoutOutputCheck(declared)
  const meta: OperationMeta = declared['~orpc'].meta
  if (meta.scope === 'none') throw new Error(`${meta.path}: an operation without a credential has no context`)

  async function serve(arrival: Arrival): Promise<Response> {
    const { request, client } = arrival
    if (declaresTooMuch(request.headers)) refuse('payload_too_large')
    const identity = await authenticateRequest(door, client, request.headers.get('authorization'))
    refuseSpent(door.windows, identity)
    const leave = door.inFlight.enter(identity.credential.id)
    if (!leave) return refuse('too_many_requests', undefined, { retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS })
    try {
      return await serveIdentified(arrival, identity)
    } finally {
      // A handler goes on when its caller is gone, so both have to have ended.
      afterSending(arrival.outgoing, leave)
    }
  }

  async function serveIdentified(arrival: Arrival, identity: Identity): Promise<Response> {
    const { request, params, headers, incoming, outgoing } = arrival
    const forbidden = whyForbidden(meta, identity.credential, params['accountId'])
    if (forbidden) throw new Refusal(forbidden, undefined, explain(forbidden, meta, identity))
    if (identity.rates) await countRequest(door.windows, identity, headers)

    const read = meta.method === 'GET' ? NO_BODY : await readBody(request.headers, incoming, outgoing)
    if (read.outcome === 'unsupported') return answerProtocolError(headers, 'unsupported_media_type')
    if (read.outcome === 'too_large') refuse('payload_too_large')
    if (read.outcome === 'invalid') return refuseInput(read.issues)
    const { body } = read
    const key = meta.method === 'POST' ? request.headers.get('idempotency-key') : null
    const run = (keepAnswer: KeepAnswer) => callOperation(arrival, identity, body, keepAnswer)
    if (key === null) return run(keepNothing)
    return answerOnce(
      door.idempotencyKeys,
      { meta, arrival, identity, body: body?.bytes ?? null, key },
      keepAnswer => run(keepAnswer).catch((error: unknown) => answerFailure(error, arrival, meta, door)),
    )
  }

  async function callOperation(
    arrival: Arrival,
    { tenantId, credential }: Identity,
    body: BodyBytes | null,
    keepAnswer: KeepAnswer,
  ): Promise<Response> {
    const { request, requestId, params, headers } = arrival
    const parsed = parseBody(body)
    if (parsed.outcome === 'invalid') return refuseInput(parsed.issues)
    const { query, issues } = readQuery(request.url)
    if (issues.length > 0) refuseInput(issues)
    const { db, services } = door
    const context: RequestContext = { db, tenantId, credential, requestId, services, keepAnswer }
    const output: unknown = await call(procedure, { params, query, body: parsed.value }, { context })
    if (meta.produces !== null) return answerDownload(output as Download, arrival, services.log)
    return answerJson(headers, meta.successStatus, output)
  }

  return arrival => serve(arrival).catch((error: unknown) => answerFailure(error, arrival, meta, door))
}

/** Which scope is missing is what the caller has to know, and may: it is in the OpenAPI document. */
function explain(
  forbidden: Reason,
  { scope }: OperationMeta,
  { credential }: Identity,
): { message?: string } {
  if (forbidden !== 'missing_scope') return {}
  return { message: `This needs the scope ${scope}, and the credential has ${credential.scopes.join(', ')}.` }
}

const keepNothing: KeepAnswer = () => Promise.resolve()
const NO_BODY = { outcome: 'read', body: null } as const

function answerFailure(error: unknown, arrival: Arrival, meta: OperationMeta, door: Door): Response {
  const { headers, requestId } = arrival
  const route = `${meta.method} ${meta.path}`
  if (error instanceof Refusal) {
    if (meta.reasons.includes(error.reason)) return answerRefusal(headers, error)
    door.services.log.error(
      { requestId, route, reason: error.reason },
      'An operation refused with a reason that it does not declare',
    )
    if (!door.isStrict) return answerRefusal(headers, error)
    return answerReason(headers, 'internal_error')
  }
  if (error instanceof ORPCError && error.code === 'BAD_REQUEST' && error.cause instanceof ValidationError) {
    return answerReason(headers, 'invalid_input', { issues: issuesOf(error.cause.issues) })
  }
  if (error instanceof DatabaseUnavailable && !error.mayHaveTakenEffect) {
    door.services.log.warn(
      { requestId, route, error },
      'A request was refused: the database cannot be reached',
    )
    return answerOverloaded(headers)
  }
  const shortage = error instanceof DatabaseUnavailable ? null : findShortage(error)
  if (shortage) {
    door.services.log.error({ requestId, route, error }, `A request was refused. ${shortage.message}`)
    return answerOverloaded(headers)
  }
  door.services.log.error({ requestId, route, error: faultOf(error) }, 'A request failed')
  return answerReason(headers, 'internal_error')
}

function answerOverloaded(headers: AnswerHeaders): Response {
  const retryAfterSeconds = overloadRetrySeconds()
  return answerRefusal(headers, new Refusal('overloaded', undefined, { retryAfterSeconds }))
}

/** An answer that does not fit its contract says in which fields, not with which values. */
function faultOf(error: unknown): unknown {
  if (!(error instanceof ORPCError) || !(error.cause instanceof ValidationError)) return error
  const where = error.cause.issues.map(({ path, message }) => `${(path ?? []).join('.')}: ${message}`)
  return new Error(`The answer does not fit the contract: ${where.slice(0, 5).join('; ')}`)
}

function refuseInput(issues: Issue[]): never {
  return refuse('invalid_input', { issues })
}

/** oRPC compares this index with that of each step, and nothing equals NaN. */
function withoutOutputCheck(procedure: AnyProcedure): AnyProcedure {
  return new Procedure({ ...procedure['~orpc'], outputValidationIndex: Number.NaN })
}
