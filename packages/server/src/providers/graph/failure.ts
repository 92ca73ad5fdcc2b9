import { z } from 'zod'
import { type FailureKind, type FailureReason, ProviderFailure } from '../failure.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import { serverText } from '../server-text.ts'

/** learn.microsoft.com/graph/errors */
const schema = z.object({
  error: z.object({ code: z.string().optional(), message: z.string().optional() }),
})

interface Meaning {
  kind: FailureKind
  reason?: FailureReason
}

/** Error codes that say more than their status. They are compared without case. */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  // The limits of a mailbox, and of the server.
  activitylimitreached: { kind: 'throttled' },
  applicationthrottled: { kind: 'throttled' },
  errorexceededconnectioncount: { kind: 'throttled' },
  errorserverbusy: { kind: 'throttled' },
  errortoomanyobjectsopened: { kind: 'throttled' },
  mailboxconcurrency: { kind: 'throttled' },
  toomanyrequests: { kind: 'throttled' },
  // The mailbox itself.
  errorinvaliduser: { kind: 'mailbox_gone', reason: 'provider_not_found' },
  errornonexistentmailbox: { kind: 'mailbox_gone', reason: 'provider_not_found' },
  mailboxnotenabledforrestapi: { kind: 'mailbox_gone', reason: 'provider_forbidden' },
  mailboxnotsupportedforrestapi: { kind: 'mailbox_gone', reason: 'provider_forbidden' },
  request_resourcenotfound: { kind: 'mailbox_gone', reason: 'provider_not_found' },
  // One item.
  errorduplicatetransactionid: { kind: 'conflict' },
  errorfolderexists: { kind: 'conflict' },
  errorirresolvableconflict: { kind: 'conflict' },
  erroritemnotfound: { kind: 'not_found' },
  itemnotfound: { kind: 'not_found' },
  // The state of a delta.
  resyncrequired: { kind: 'conflict' },
  syncstateinvalid: { kind: 'conflict' },
  syncstatenotfound: { kind: 'conflict' },
}

const BY_STATUS: Readonly<Record<number, FailureKind>> = {
  403: 'forbidden',
  404: 'not_found',
  408: 'unavailable',
  409: 'conflict',
  410: 'conflict',
  412: 'conflict',
  // The range is not the next one of an upload session.
  416: 'conflict',
  423: 'conflict',
  425: 'unavailable',
  429: 'throttled',
  501: 'unsupported',
  509: 'throttled',
}

const SYNC_STATES = new Set(['resyncrequired', 'syncstateinvalid', 'syncstatenotfound'])

/** Graph no longer knows the state of a delta: the link is of no more use. */
export class LinkExpired extends ProviderFailure {}

/**
 * The failure for an answer that is not a success. Only a refusal proves that a write was not carried out: a server that
 * failed leaves that open, also if it gives its load as the reason.
 */
export function graphFailure(answer: ProviderAnswer, now: number, isWrite = false): ProviderFailure {
  const { status, headers } = answer
  const { code, message } = readError(answer.content)
  const { kind, reason } = meaningOf(status, code)
  const seconds = retryAfterSeconds(headers, now)
  const label = [code, message].filter(text => text !== '').join(': ')
  const text = `Microsoft Graph answered ${status}${label === '' ? '' : `: ${label}`}`
  const isRefusal = status >= 400 && status < 500 && kind !== 'unavailable'
  const Failure = status === 410 || SYNC_STATES.has(code.toLowerCase()) ? LinkExpired : ProviderFailure
  return new Failure(kind, text, {
    isBeforeAcceptance: isRefusal || !isWrite,
    ...(reason && { reason }),
    ...(seconds !== null && { retryAfterSeconds: seconds }),
  })
}

function meaningOf(status: number, code: string): Meaning {
  const known = BY_CODE[code.toLowerCase()]
  // A server that fails may name any code, and a success is none of these.
  if (known && status >= 400) return known
  const kind = BY_STATUS[status]
  if (kind) return { kind }
  return { kind: status >= 400 && status < 500 && status !== 401 ? 'rejected' : 'unavailable' }
}

function readError(content: Buffer): { code: string; message: string } {
  try {
    const { data } = schema.safeParse(JSON.parse(content.toString()))
    return { code: serverText(data?.error.code), message: serverText(data?.error.message) }
  } catch {
    return { code: '', message: '' }
  }
}
