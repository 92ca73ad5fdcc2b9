import { z } from 'zod'
import { type FailureKind, ProviderFailure } from '../failure.ts'
import type { QuotaOwner } from './governor.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import { serverText } from '../server-text.ts'

/** The errors of all APIs (AIP-193; developers.google.com/workspace/gmail/api/guides/handle-errors). */
const schema = z.object({
  error: z.object({
    message: z.string().optional(),
    status: z.string().optional(),
    errors: z.array(z.object({ reason: z.string().optional() })).optional(),
    details: z.array(z.object({ reason: z.string().optional() })).optional(),
  }),
})

const RATE_REASONS = new Set([
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'dailyLimitExceeded',
  'quotaExceeded',
  'RATE_LIMIT_EXCEEDED',
])
/** Reasons for limits of a project; a limit of each user is named in the message, with any reason. */
const PROJECT_REASONS = new Set(['rateLimitExceeded', 'dailyLimitExceeded', 'RATE_LIMIT_EXCEEDED'])
const SCOPE_REASONS = new Set(['insufficientPermissions', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'])
/** The project of the OAuth app may not use the API. */
const DISABLED_REASONS = new Set(['accessNotConfigured', 'SERVICE_DISABLED'])
/** The user's mailbox is not there, or an administrator has closed it to this app. */
const CLOSED = /Mail service not enabled|Delegation denied/i

/** Google refuses a call because the quota of a user or project is spent. */
export class QuotaRefused extends ProviderFailure {
  readonly owner: QuotaOwner

  constructor(message: string, seconds: number | null, owner: QuotaOwner) {
    super('throttled', message, seconds === null ? {} : { retryAfterSeconds: seconds })
    this.owner = owner
  }
}

/** Google refuses a request, with reasons for programs, such as `FAILED_PRECONDITION`. */
export class RequestRefused extends ProviderFailure {
  readonly reasons: readonly string[]

  constructor(message: string, reasons: readonly string[]) {
    super('rejected', message, { isBeforeAcceptance: true })
    this.reasons = reasons
  }
}

/**
 * The failure for an answer of an API that is not a success. `isWrite` leaves open whether a failed server has carried out
 * the request.
 */
export function googleFailure(
  api: string,
  answer: ProviderAnswer,
  { now, isWrite = false }: { now: number; isWrite?: boolean },
): ProviderFailure {
  const { status, headers } = answer
  const { code, message, reasons } = readError(answer.content)
  const kind = kindOf(status, message, reasons)
  const seconds = retryAfterSeconds(headers, now)
  const text = `${api} answered ${status}${message === '' ? '' : `: ${message}`}`
  if (kind === 'throttled') return new QuotaRefused(text, seconds, ownerOf(status, message, reasons))
  if (kind === 'rejected') return new RequestRefused(text, [code, ...reasons])
  return new ProviderFailure(kind, text, {
    isBeforeAcceptance: kind !== 'unavailable' || !isWrite,
    ...(kind === 'mailbox_gone' && { reason: 'provider_forbidden' as const }),
    ...(seconds !== null && { retryAfterSeconds: seconds }),
  })
}

function ownerOf(status: number, message: string, reasons: readonly string[]): QuotaOwner {
  // All limits that 429 stands for are limits of users, except for a named one.
  const isOfProject = status === 403 || /quota metric/i.test(message)
  return isOfProject && !/user/i.test(message) && reasons.some(reason => PROJECT_REASONS.has(reason))
    ? 'project'
    : 'user'
}

function kindOf(status: number, message: string, reasons: readonly string[]): FailureKind {
  if (status === 429 || (status === 403 && reasons.some(reason => RATE_REASONS.has(reason))))
    return 'throttled'
  if (status === 403 && reasons.some(reason => SCOPE_REASONS.has(reason))) return 'scope_missing'
  if (status === 403 && reasons.some(reason => DISABLED_REASONS.has(reason))) return 'misconfigured'
  if (CLOSED.test(message)) return 'mailbox_gone'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not_found'
  if (status === 409) return 'conflict'
  // Redirects are never followed, and are no refusal of the request.
  if (status >= 400 && status < 500 && status !== 408 && status !== 401) return 'rejected'
  return 'unavailable'
}

function readError(content: Buffer): { code: string; message: string; reasons: string[] } {
  let json: unknown
  try {
    json = JSON.parse(content.toString())
  } catch {
    return { code: '', message: '', reasons: [] }
  }
  const { data } = schema.safeParse(json)
  const { status: code = '', message, errors = [], details = [] } = data?.error ?? {}
  return {
    code,
    message: serverText(message),
    reasons: [...errors, ...details].flatMap(({ reason }) => reason ?? []),
  }
}
