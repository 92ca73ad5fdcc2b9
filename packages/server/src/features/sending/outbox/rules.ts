import type { OutboxEntry, SendFailure } from '@waxwing/contract/sending/outbox.ts'
import type { FailureKind } from '../../../providers/failure.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { needsSmtpUtf8 } from '../../../kit/mail-address.ts'
import type { RecipientOutcome, Refusal } from '../../../providers/sending.ts'
import { planRetry } from './schedule.ts'
import { suppressedMessage } from '../suppressions/rules.ts'

export interface SendError {
  reason: SendFailure
  message: string
}

const FAILURES: Readonly<Record<FailureKind, SendFailure>> = {
  login_failed: 'login_failed',
  grant_refused: 'account_reauth_required',
  access_refused: 'provider_unavailable',
  scope_missing: 'provider_forbidden',
  misconfigured: 'account_misconfigured',
  unsupported: 'account_misconfigured',
  not_allowed: 'server_not_allowed',
  mailbox_gone: 'account_disabled',
  // Its entries are cancelled.
  account_deleted: 'account_disabled',
  throttled: 'provider_throttled',
  unavailable: 'provider_unavailable',
  forbidden: 'provider_forbidden',
  not_found: 'provider_rejected',
  rejected: 'provider_rejected',
  conflict: 'provider_rejected',
}

/** The error that is shown for a failure of the account or its server. */
export function sendErrorOf(failure: { kind: FailureKind; message: string }): SendError {
  return { reason: FAILURES[failure.kind], message: failure.message }
}

export const OUTCOME_UNKNOWN: SendError = {
  reason: 'outcome_unknown',
  message:
    'The connection was lost after the message was handed over, and it is not known whether the server accepted it. ' +
    'It is not sent again by itself.',
}

/** Error of a send that was held after a restore and not found among the sent copies. */
export const MAY_HAVE_BEEN_SENT: SendError = {
  reason: 'outcome_unknown',
  message:
    'The database was restored to an earlier state. Whether this message was sent before is not known.',
}

export type RejectedRecipient = OutboxEntry['rejectedRecipients'][number]

/**
 * Divides recipients by whether a server without SMTPUTF8 can reach them (RFC 6531 section 3.7.4.2): nothing is sent to
 * the others in another spelling. If the sender is beyond ASCII, no recipient can be reached.
 */
export function planUtf8(
  envelope: { from: string; to: readonly string[] },
  hasSmtpUtf8: boolean,
): { to: string[]; refused: RecipientOutcome[] } {
  const isUnreachable = (address: string) => !hasSmtpUtf8 && needsSmtpUtf8(address)
  const isOfSender = isUnreachable(envelope.from)
  const to = envelope.to.filter(address => !isOfSender && !isUnreachable(address))
  const refusal: Refusal = {
    of: isOfSender ? 'message' : 'recipient',
    isPermanent: true,
    isTooLarge: false,
    status: '5.6.7',
    message: 'The server does not support addresses beyond ASCII (SMTPUTF8).',
  }
  const refused = envelope.to.filter(address => !to.includes(address))
  return { to, refused: refused.map(address => ({ address, refusal })) }
}

/** An entry as an attempt found it. */
export interface TriedEntry {
  /** Whether a recipient was accepted by an earlier attempt. */
  isSent: boolean
  rejected: readonly RejectedRecipient[]
  sendAt: Date
  /** The beginning of its first attempt. */
  datedAt: Date
  /** Attempts that ended before this one. */
  attempts: number
}

/** The state of an entry after an attempt. */
export interface NextState {
  status: 'queued' | 'sent' | 'failed'
  /** Recipients that are tried again. */
  waiting: string[]
  rejected: RejectedRecipient[]
  /** Recipients that the server refused for good in this attempt by their address, for any message. */
  refusedRecipients?: readonly string[]
  /** The time of their next attempt; null if there is none. */
  dueAt: Date | null
  error: SendError | null
}

/**
 * Decides on the answers for each recipient. One accepted recipient makes the entry `sent`, and is never sent to again.
 * Recipients that are refused for the time being are tried again by themselves; when that is over, they count as
 * refused.
 */
export function planOutcome(entry: TriedEntry, outcomes: readonly RecipientOutcome[], now: Date): NextState {
  const refused = outcomes.flatMap(({ address, refusal }) => (refusal ? [{ address, ...refusal }] : []))
  const isSent = entry.isSent || refused.length < outcomes.length
  const later = refused.filter(({ isPermanent }) => !isPermanent)
  const attempts = entry.attempts + 1
  const retryAt = later.length > 0 ? planRetry({ ...entry, now, attempts, retryAfterSeconds: null }) : null
  const lost = retryAt === null ? refused : refused.filter(({ isPermanent }) => isPermanent)
  const rejected = [...entry.rejected, ...lost.map(toRejected)]
  const waiting = retryAt === null ? [] : later.map(({ address }) => address)
  const [worst] = [...later, ...refused]
  const error = worst ? refusalError(worst) : null
  const refusedRecipients = refused.flatMap(refusal =>
    refusal.isPermanent && refusal.of === 'recipient' ? [refusal.address] : [],
  )
  const status = isSent ? 'sent' : retryAt ? 'queued' : 'failed'
  return { status, waiting, rejected, refusedRecipients, dueAt: retryAt, error }
}

function toRejected({ address, status, message }: RejectedRecipient): RejectedRecipient {
  return { address, status, message }
}

function refusalError(refusal: { isTooLarge: boolean; isPermanent: boolean; message: string }): SendError {
  const { isTooLarge, isPermanent, message } = refusal
  if (isTooLarge && isPermanent) return { reason: 'attachments_too_large', message }
  return { reason: isPermanent ? 'provider_rejected' : 'provider_unavailable', message }
}

/** An attempt that failed before anybody was accepted, since the account or its server is in trouble. */
export function planTrouble(
  entry: TriedEntry,
  waiting: readonly string[],
  trouble: { now: Date; error: SendError; retryAfterSeconds: number | null },
): NextState {
  const { now, error, retryAfterSeconds } = trouble
  const { isSent, rejected } = entry
  const dueAt = planRetry({ ...entry, now, attempts: entry.attempts + 1, retryAfterSeconds })
  if (dueAt)
    return {
      status: isSent ? 'sent' : 'queued',
      waiting: [...waiting],
      rejected: [...rejected],
      dueAt,
      error,
    }
  return isSent ? planGivenUp(entry, waiting, error) : { ...planGivenUp(entry, [], error), status: 'failed' }
}

/** Plans no more attempts for the waiting recipients; if others were accepted, they count as refused. */
export function planGivenUp(
  entry: Pick<TriedEntry, 'isSent' | 'rejected'>,
  waiting: readonly string[],
  error: SendError,
): NextState {
  const lost = waiting.map(address => ({ address, status: '4.0.0', message: error.message }))
  return {
    status: entry.isSent ? 'sent' : 'failed',
    waiting: [],
    rejected: [...entry.rejected, ...(entry.isSent ? lost : [])],
    dueAt: null,
    error,
  }
}

/**
 * Plans an entry of which some recipients were suppressed after the message was accepted. If no server has the message
 * yet, it is not sent at all; otherwise only these recipients are given up.
 * @param addresses as addresses are compared
 */
export function planSuppressed(
  entry: TriedEntry,
  waiting: readonly string[],
  { now, addresses }: { now: Date; addresses: ReadonlySet<string> },
): NextState {
  const error: SendError = { reason: 'suppressed', message: suppressedMessage(addresses) }
  if (!entry.isSent) return planGivenUp(entry, waiting, error)
  const isSuppressed = (address: string) => addresses.has(comparedAddress(address))
  const others = waiting.filter(address => !isSuppressed(address))
  const given = waiting.filter(isSuppressed)
  // RFC 3463 section 3.8: delivery not authorized.
  const rejected = given.map(address => ({ address, status: '5.7.1', message: error.message }))
  return {
    status: 'sent',
    waiting: others,
    rejected: [...entry.rejected, ...rejected],
    dueAt: others.length > 0 ? now : null,
    error,
  }
}
