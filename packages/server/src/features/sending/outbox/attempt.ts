import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { pause } from '../../../jobs/nudge.ts'
import type { Logger } from '../../../kit/log.ts'
import { SealError } from '../../../kit/seal.ts'
import { wireAddress } from '../../../kit/mail-address.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { SendingProvider, SendOutcome } from '../../../providers/sending.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { reachedAs } from '../../accounts/accounts/rules.ts'
import type { AccountKeys } from '../../accounts/accounts/secrets.ts'
import { findAccountView } from '../../accounts/accounts/store.ts'
import { type StoredContent, wireForm } from '../compose/stored-content.ts'
import type { ClaimedEntry } from './claims.ts'
import type { ReachSendPoint } from './points.ts'
import {
  recordAnswered,
  recordHandOver,
  recordOutcome,
  recordPause,
  recordReleased,
  recordUnknown,
  type SentTask,
} from './record-attempt.ts'
import {
  type NextState,
  OUTCOME_UNKNOWN,
  planGivenUp,
  planLookUpSeconds,
  planOutcome,
  planTrouble,
  planUtf8,
  type SendError,
  sendErrorOf,
} from './rules.ts'
import { readClock } from './store.ts'
import { openContent } from './stored-content.ts'

export interface AttemptServices {
  db: Db
  connections: Connections
  accountKeys: AccountKeys
  log: Logger
  reach: ReachSendPoint
}

/** How an attempt ended, for metrics. */
export type AttemptOutcome = 'sent' | 'retried' | 'failed' | 'unknown' | 'released'

/** What was learnt of an attempt, and is to be written down. */
type Learnt =
  | ({ type: 'answered'; outcome: SendOutcome } & ProviderTraits)
  | { type: 'failed'; error: SendError }
  | { type: 'trouble'; error: SendError; retryAfterSeconds: number | null; isOfAccount: boolean }
  | { type: 'unknown' }
  | { type: 'released' }

interface ProviderTraits {
  filesCopy: SendingProvider['filesCopy']
  bytesMax: number | null
}

/** The message is larger than the server said that it takes. */
class TooLarge extends Error {}
class ClaimLost extends Error {}
class ContentLost extends Error {}

/** What was learnt is written down for so long while the database does not take it. */
const WRITE_DOWN_SECONDS_MAX = 600

/** Makes one attempt to send a claimed entry. Never rejects. */
export async function makeAttempt(
  services: AttemptServices,
  entry: ClaimedEntry,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const { log, db } = services
  const fields = { outboxId: entry.id, accountId: entry.accountId, tenantId: entry.tenantId }
  try {
    const account = await findAccountView(db, entry.tenantId, entry.accountId)
    const learnt = await attempt(services, entry, account, signal)
    if (learnt.type === 'answered') await services.reach('answered', entry.id)
    return await writeDown(services, entry, account, learnt)
  } catch (error) {
    log.error({ ...fields, error }, 'The outcome of a send could not be written down')
    return 'unknown'
  }
}

async function attempt(
  services: AttemptServices,
  entry: ClaimedEntry,
  account: AccountView | null,
  signal: AbortSignal,
): Promise<Learnt> {
  // A deleted account's entries are cancelled once they are queued again; an unusable one waits.
  if (!account || account.status !== 'active') return { type: 'released' }
  let isHandedOver = false
  try {
    signal.throwIfAborted()
    await services.reach('claimed', entry.id)
    const stored = await openContent(services, account, entry.id)
    if (!stored) throw new ContentLost()
    return await services.connections.use(
      reachedAs(account),
      'sending',
      async provider => ({
        type: 'answered',
        outcome: await handOver(provider, stored, async trace => {
          await services.reach('hand_over_commit', entry.id)
          signal.throwIfAborted()
          if (!(await recordHandOver(services.db, entry, trace))) throw new ClaimLost()
          isHandedOver = true
          await services.reach('hand_over_recorded', entry.id)
        }),
        filesCopy: provider.filesCopy,
        bytesMax: provider.limits.messageBytesMax,
      }),
      { isRepeatable: false, signal },
    )
  } catch (error) {
    return learnFrom(error, { isHandedOver, isStopped: signal.aborted, log: services.log, entry })
  }

  async function handOver(
    provider: SendingProvider,
    stored: StoredContent,
    beforeHandOver: (trace: string | null) => Promise<void>,
  ): Promise<SendOutcome> {
    // The work is repeated only if the server accepted nothing before.
    isHandedOver = false
    const { has8BitMime, hasSmtpUtf8, messageBytesMax } = provider.limits
    const from = wireAddress(account!.email)
    const { to, refused } = planUtf8({ from, to: entry.waiting }, hasSmtpUtf8)
    if (to.length === 0) return { recipients: refused, given: { key: null, ...NOTHING_GIVEN } }
    const content = await wireForm(stored, { date: entry.datedAt, has8BitMime, hasSmtpUtf8 })
    if (messageBytesMax !== null && content.byteLength > messageBytesMax) throw new TooLarge()
    await services.reach('mail_from', entry.id)
    const outcome = await provider.send({
      envelope: { from, to },
      content,
      envelopeId: entry.id,
      threadId: entry.threadId,
      beforeHandOver,
      signal,
    })
    return { ...outcome, recipients: [...outcome.recipients, ...refused] }
  }
}

function learnFrom(
  error: unknown,
  about: { isHandedOver: boolean; isStopped: boolean; log: Logger; entry: ClaimedEntry },
): Learnt {
  const { isHandedOver, isStopped, log, entry } = about
  if (error instanceof ClaimLost) return { type: 'released' }
  if (error instanceof ProviderFailure && (error.isBeforeAcceptance || !isHandedOver)) {
    if (isStopped || error.isBusy || error.kind === 'account_deleted') return { type: 'released' }
    const { retryAfterSeconds } = error
    return { type: 'trouble', error: sendErrorOf(error), retryAfterSeconds, isOfAccount: true }
  }
  if (isHandedOver) return { type: 'unknown' }
  if (isStopped) return { type: 'released' }
  if (error instanceof TooLarge)
    return {
      type: 'failed',
      error: { reason: 'attachments_too_large', message: 'The message is larger than the server accepts.' },
    }
  if (error instanceof ContentLost || error instanceof SealError)
    return {
      type: 'failed',
      error: { reason: 'storage_unavailable', message: 'The content of the message is lost.' },
    }
  log.error({ outboxId: entry.id, tenantId: entry.tenantId, error }, 'A send failed and is tried again')
  return {
    type: 'trouble',
    error: { reason: 'provider_unavailable', message: 'The service could not send the message.' },
    retryAfterSeconds: null,
    isOfAccount: false,
  }
}

/** Tries again while the database is away: what the server answered is known nowhere else. */
async function writeDown(
  services: AttemptServices,
  entry: ClaimedEntry,
  account: AccountView | null,
  learnt: Learnt,
): Promise<AttemptOutcome> {
  const until = performance.now() + WRITE_DOWN_SECONDS_MAX * 1_000
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 10)) {
    try {
      await services.reach('outcome_commit', entry.id)
      const outcome = await recordLearnt(services, entry, account, learnt)
      await services.reach('outcome_recorded', entry.id)
      return outcome
    } catch (error) {
      if (performance.now() > until) throw error
      services.log.warn({ outboxId: entry.id, error }, 'The outcome of a send is not yet written down')
      await pause(seconds * 1_000)
    }
  }
}

async function recordLearnt(
  services: AttemptServices,
  entry: ClaimedEntry,
  account: AccountView | null,
  learnt: Learnt,
): Promise<AttemptOutcome> {
  return inTransaction(services.db, entry.tenantId, async unit => {
    const now = await readClock(unit.sql)
    switch (learnt.type) {
      case 'released':
        await recordReleased(unit, entry)
        return 'released'
      case 'unknown':
        if (!entry.isSent) {
          await recordUnknown(unit, entry, planLookUpSeconds(0) ?? 0)
          return 'unknown'
        }
        return settle(planGivenUp(entry, entry.waiting, OUTCOME_UNKNOWN))
      case 'failed':
        return settle(planGivenUp(entry, entry.waiting, learnt.error))
      case 'trouble': {
        const outcome = await settle(planTrouble(entry, entry.waiting, { ...learnt, now }))
        if (learnt.isOfAccount) await recordPause(unit, entry.accountId, learnt)
        return outcome
      }
      case 'answered': {
        const { recipients, given } = learnt.outcome
        const next = planOutcome(entry, recipients, now)
        const outcome = await settle(next, taskOf(account, learnt.filesCopy, entry), given)
        await recordAnswered(unit, entry.accountId, learnt.bytesMax)
        return outcome
      }
    }

    async function settle(
      next: NextState,
      task: SentTask = null,
      given: { internetMessageId: string | null; threadId: string | null } = NOTHING_GIVEN,
    ): Promise<AttemptOutcome> {
      await recordOutcome(unit, entry, next, { task, given })
      return next.status === 'sent' ? 'sent' : next.status === 'queued' ? 'retried' : 'failed'
    }
  })
}

const NOTHING_GIVEN = { internetMessageId: null, threadId: null }

function taskOf(
  account: AccountView | null,
  filesCopy: SendingProvider['filesCopy'],
  { isReply }: ClaimedEntry,
): SentTask {
  if (filesCopy !== 'always' && account?.imap?.appendSent) return 'file_copy'
  return isReply ? 'mark_original' : null
}
