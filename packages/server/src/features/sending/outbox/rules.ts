import type { OutboxEntry, SendFailure } from '@waxwing/contract/sending/outbox.ts'
import type { FailureKind } from '../../../providers/failure.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { needsSmtpUtf8 } from '../../../kit/mail-address.ts'
import type { RecipientOutcome, Refusal } from '../../../providers/sending.ts'
import { suppressedMessage } from '../suppressions/rules.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Pauses after the first, second … attempt that failed; the last one repeats. */
const RETRY_PAUSES_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
]
/** The last attempt is made this long after the message was due, or after its first attempt if that was later. */
export const LAST_ATTEMPT_HOURS = 48
/** A server that names a longer time is asked again after this one. */
const RETRY_AFTER_HOURS_MAX = 24

/** How far ahead a send may be scheduled. */
const SCHEDULE_DAYS_MAX = 365
/** Clocks of callers differ: so far in the past still means now. */
const PAST_SECONDS_MAX = 60

/**
 * When a send is due, by the clock of the database: the later of `sendAt` and the end of the time in which it can be
 * undone. A text says what is wrong with `sendAt`.
 */
export function planSendTime(now: Date, sendAt: Date | null, undoSeconds: number): Date | string {
  const undoneUntil = now.getTime() + undoSeconds * 1_000
  if (sendAt === null) return new Date(undoneUntil)
  const ahead = sendAt.getTime() - now.getTime()
  if (ahead < -PAST_SECONDS_MAX * 1_000) return `must be at most ${PAST_SECONDS_MAX} seconds in the past`
  if (ahead > SCHEDULE_DAYS_MAX * 24 * HOUR_MS) return `must be at most ${SCHEDULE_DAYS_MAX} days ahead`
  return new Date(Math.max(sendAt.getTime(), undoneUntil))
}

export interface Retrying {
  now: Date
  /** When the message was due at first. */
  sendAt: Date
  /** When its first attempt began: much later if the service was down. */
  datedAt: Date
  /** Attempts that ended, the last one included. */
  attempts: number
  retryAfterSeconds: number | null
}

/** When a message is tried again; null: the last attempt was made. */
export function planRetry({ now, sendAt, datedAt, attempts, retryAfterSeconds }: Retrying): Date | null {
  const lastAt = Math.max(sendAt.getTime(), datedAt.getTime()) + LAST_ATTEMPT_HOURS * HOUR_MS
  if (now.getTime() >= lastAt) return null
  const pause = RETRY_PAUSES_MS[Math.min(attempts, RETRY_PAUSES_MS.length) - 1] ?? MINUTE_MS
  const named = Math.min((retryAfterSeconds ?? 0) * 1_000, RETRY_AFTER_HOURS_MAX * HOUR_MS)
  return new Date(Math.max(Math.min(now.getTime() + pause, lastAt), now.getTime() + named))
}

/** Seconds that an account is held back after its server or login failed so many times in a row. */
export function planPauseSeconds(failuresInRow: number, retryAfterSeconds: number | null): number {
  const pause = RETRY_PAUSES_MS[Math.min(failuresInRow, RETRY_PAUSES_MS.length) - 1] ?? MINUTE_MS
  return Math.max(pause / 1_000, Math.min(retryAfterSeconds ?? 0, RETRY_AFTER_HOURS_MAX * 3_600))
}

export interface SendError {
  reason: SendFailure
  message: string
}

const FAILURES: Readonly<Record<FailureKind, SendFailure>> = {
  login_failed: 'login_failed',
  grant_refused: 'account_reauth_required',
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

/** What is shown of a failure of the account or its server. */
export function sendErrorOf(failure: { kind: FailureKind; message: string }): SendError {
  return { reason: FAILURES[failure.kind], message: failure.message }
}

export const OUTCOME_UNKNOWN: SendError = {
  reason: 'outcome_unknown',
  message:
    'The connection was lost after the message was handed over, and it is not known whether the server accepted it. ' +
    'It is not sent again by itself.',
}

export type RejectedRecipient = OutboxEntry['rejectedRecipients'][number]

/**
 * Those whom a server without SMTPUTF8 cannot reach (RFC 6531 section 3.7.4.2): nothing is sent to them in another
 * spelling. If the sender is one of them, nobody can be.
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
  /** When its first attempt began. */
  datedAt: Date
  /** Attempts that ended before this one. */
  attempts: number
}

/** What becomes of an entry after an attempt. */
export interface NextState {
  status: 'queued' | 'sent' | 'failed'
  /** Recipients that are tried again. */
  waiting: string[]
  rejected: RejectedRecipient[]
  /** Those whom the server refused for good in this attempt by their address, whatever the message. */
  refusedRecipients?: readonly string[]
  /** When they are tried again; null where nobody is. */
  dueAt: Date | null
  error: SendError | null
}

/**
 * Decides on the answers for each recipient. One accepted recipient makes the entry `sent`, and is never sent to again.
 * Those refused for the time being are tried again by themselves; when that is over, they count as refused.
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

/** No more attempts for those who wait; where others were accepted, they count as refused. */
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
 * Some recipients were suppressed after the message was accepted. If nobody has it yet, nobody gets it; otherwise only
 * they are given up.
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

/** Seconds after a hand-over with an unknown outcome at which it is looked up. */
const LOOK_UP_SECONDS = [5, 15, 60, 300, 900, 1_800]

/** Seconds until the next look-up after so many; null: it stays unknown. */
export function planLookUpSeconds(looks: number): number | null {
  const next = LOOK_UP_SECONDS[looks]
  return next === undefined ? null : next - (LOOK_UP_SECONDS[looks - 1] ?? 0)
}

/** Seconds between two searches for the copy that a server may file by itself. */
const COPY_SEARCH_SECONDS = 5
/** One that was seen to file copies is given longer. */
const KNOWN_FILER_SECONDS = [5, 55, 240]

/** Seconds until the copy is searched for again after so many searches; null: it is to be filed. */
export function planCopySearchSeconds(searches: number, filesCopies: boolean): number | null {
  const pauses = filesCopies ? KNOWN_FILER_SECONDS : [COPY_SEARCH_SECONDS]
  return pauses[searches - 1] ?? null
}

const TASK_PAUSE_SECONDS_MAX = 3_600

/** Seconds until a task is tried again that failed so many times. */
export function planTaskPauseSeconds(failures: number): number {
  return Math.min(15 * 2 ** Math.min(failures - 1, 10), TASK_PAUSE_SECONDS_MAX)
}
