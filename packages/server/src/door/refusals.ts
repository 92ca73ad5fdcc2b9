import { ORPCError, ValidationError } from '@orpc/server'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import { findShortage } from '../database/shortage.ts'
import { DatabaseUnavailable } from '../database/unavailable.ts'
import { Refusal } from '../calls/refuse.ts'
import type { Logger } from '../kit/log.ts'
import { issuesOf } from './input-issues.ts'
import { overloadRetrySeconds } from './overload.ts'

/** The body of a refusal, as the interface shows it. */
export interface RefusalBody {
  defined: true
  code: string
  status: number
  message: string
  data: unknown
}

export function presentRefusal({ reason, status, message, data }: Refusal): RefusalBody {
  return { defined: true, code: reason, status, message, data }
}

/**
 * Translates a thrown error into the refusal for the caller. Faults of ours are logged, and the caller gets no details.
 */
export function refusalOf(
  error: unknown,
  {
    meta,
    requestId,
    isStrict,
    log,
  }: { meta: OperationMeta; requestId: string; isStrict: boolean; log: Logger },
): Refusal {
  const route = `${meta.method} ${meta.path}`
  if (error instanceof Refusal) {
    if (meta.reasons.includes(error.reason)) return error
    log.error(
      { requestId, route, reason: error.reason },
      'An operation refused with a reason that it does not declare',
    )
    return isStrict ? internalError() : error
  }
  if (error instanceof ORPCError && error.code === 'BAD_REQUEST' && error.cause instanceof ValidationError) {
    return new Refusal('invalid_input', { issues: issuesOf(error.cause.issues) }, {})
  }
  if (error instanceof DatabaseUnavailable && !error.mayHaveTakenEffect) {
    log.warn({ requestId, route, error }, 'A request was refused: the database cannot be reached')
    return overloaded()
  }
  const shortage = error instanceof DatabaseUnavailable ? null : findShortage(error)
  if (shortage) {
    log.error({ requestId, route, error }, `A request was refused. ${shortage.message}`)
    return overloaded()
  }
  log.error({ requestId, route, error: faultOf(error) }, 'A request failed')
  return internalError()
}

export function overloaded(): Refusal {
  return new Refusal('overloaded', undefined, { retryAfterSeconds: overloadRetrySeconds() })
}

function internalError(): Refusal {
  return new Refusal('internal_error', undefined, {})
}

/** Names the fields of an answer that does not fit its contract, without their values. */
function faultOf(error: unknown): unknown {
  if (!(error instanceof ORPCError) || !(error.cause instanceof ValidationError)) return error
  const where = error.cause.issues.map(({ path, message }) => `${(path ?? []).join('.')}: ${message}`)
  return new Error(`The answer does not fit the contract: ${where.slice(0, 5).join('; ')}`)
}
