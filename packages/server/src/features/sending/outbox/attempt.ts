import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { pause } from '../../../processes/nudge.ts'
import type { Logger } from '../../../kit/log.ts'
import { SealError } from '../../../kit/seal.ts'
import { wireAddress } from '../../../kit/mail-address.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { SendingProvider, SendOutcome } from '../../../providers/sending.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import { findAccountViews } from '../../../accounts/store.ts'
import { type StoredContent, wireForm } from '../compose/stored-content.ts'
import {
  type AttemptOutcome,
  type AttemptRecords,
  type EndedAttempt,
  type Learnt,
  NOTHING_GIVEN,
} from './attempt-records.ts'
import type { ClaimedEntry } from './claims.ts'
import { type BoundContent, findContents } from './content.ts'
import type { ReachSendPoint } from './points.ts'
import { planUtf8, sendErrorOf } from './rules.ts'
import { openContent } from './stored-content.ts'

export interface AttemptServices {
  db: Db
  connections: Connections
  accountKeys: AccountKeys
  records: AttemptRecords
  log: Logger
  reach: ReachSendPoint
}

/** Accounts and contents that were read for entries claimed together. Missing ones are left out. */
export interface ReadForAttempt {
  /** Accounts by their ids. */
  accounts: ReadonlyMap<string, AccountView>
  /** Contents by the id of the entry. */
  contents: ReadonlyMap<string, BoundContent>
}

export async function readClaimed(db: Db, entries: readonly ClaimedEntry[]): Promise<ReadForAttempt> {
  const ids = entries.map(({ id }) => id)
  const ofAccounts = entries.map(({ tenantId, accountId }) => ({ tenantId, id: accountId }))
  const [accounts, contents] = await Promise.all([findAccountViews(db, ofAccounts), findContents(db, ids)])
  return { accounts, contents }
}

export interface AttemptProgress {
  /** The provider has the message, and has not answered yet. */
  onHandedOver(): void
  /** The exchange with the provider is over, and only the outcome is still to be recorded. */
  onOver(): void
}

/** The message is larger than the server accepts. */
class TooLarge extends Error {}
class ClaimLost extends Error {}
class RecipientsSuppressed extends Error {
  readonly addresses: ReadonlySet<string>

  constructor(addresses: ReadonlySet<string>) {
    super('Recipients are suppressed')
    this.addresses = addresses
  }
}
class ContentLost extends Error {}

/** While the database fails, writing down the outcome of an attempt is retried for this time. */
const WRITE_DOWN_SECONDS_MAX = 600

/** Makes one attempt to send a claimed entry. Never rejects. */
export async function makeAttempt(
  services: AttemptServices,
  entry: ClaimedEntry,
  { read, progress }: { read: Promise<ReadForAttempt>; progress: AttemptProgress },
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  try {
    const { accounts, contents } = await read
    const account = accounts.get(entry.accountId) ?? null
    const content = contents.get(entry.id) ?? null
    const learnt = await attempt(services, { entry, account, content, progress }, signal)
    progress.onOver()
    if (learnt.type === 'answered') await services.reach('answered', entry.id)
    return await writeDown(services, { entry, account, learnt })
  } catch (error) {
    const fields = { outboxId: entry.id, accountId: entry.accountId, tenantId: entry.tenantId }
    services.log.error({ ...fields, error }, 'The outcome of a send could not be written down')
    return 'unknown'
  }
}

async function attempt(
  services: AttemptServices,
  {
    entry,
    account,
    content,
    progress,
  }: {
    entry: ClaimedEntry
    account: AccountView | null
    content: BoundContent | null
    progress: AttemptProgress
  },
  signal: AbortSignal,
): Promise<Learnt> {
  // A deleted account's entries are cancelled once they are queued again; an unusable one waits.
  if (!account || account.status !== 'active') return RELEASED
  let isHandedOver = false
  let { mayBePrepared } = entry
  try {
    signal.throwIfAborted()
    await services.reach('claimed', entry.id)
    if (!content) throw new ContentLost()
    const stored = openContent(services.accountKeys, account, content)
    return await services.connections.use(
      reachedAs(account),
      'sending',
      async provider => ({
        type: 'answered',
        outcome: await handOver(provider, stored, async trace => {
          await services.reach('hand_over_commit', entry.id)
          signal.throwIfAborted()
          const { listId, waiting: to } = entry
          const result = await services.records.handOver({ attempt: entry, trace, listId, to })
          if (result === 'lost') throw new ClaimLost()
          if (result !== 'recorded') throw new RecipientsSuppressed(result.suppressed)
          isHandedOver = true
          progress.onHandedOver()
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
    const { has8BitMime, hasSmtpUtf8, messageBytesMax, readsHeader } = provider.limits
    const from = wireAddress(account!.email)
    const { to, refused } = planUtf8({ from, to: entry.waiting }, hasSmtpUtf8)
    if (to.length === 0) return { recipients: refused, given: NOTHING_GIVEN }
    const options = { date: entry.datedAt, has8BitMime, hasSmtpUtf8, hasBcc: readsHeader }
    const form = await wireForm(stored, options)
    if (messageBytesMax !== null && form.byteLength > messageBytesMax) throw new TooLarge()
    await services.reach('mail_from', entry.id)
    const outcome = await provider.send({
      envelope: { from, to },
      content: form,
      internetMessageId: entry.internetMessageId,
      outboxId: entry.id,
      mayBePrepared,
      async beforePreparing() {
        if (mayBePrepared) return
        if (!(await services.records.prepare(entry))) throw new ClaimLost()
        // The work may be repeated over another connection.
        mayBePrepared = true
        await services.reach('prepare_recorded', entry.id)
      },
      envelopeId: entry.id,
      threadId: entry.threadId,
      beforeHandOver,
      signal,
    })
    return { ...outcome, recipients: [...outcome.recipients, ...refused] }
  }
}

const RELEASED: Learnt = { type: 'released', afterSeconds: null }

function learnFrom(
  error: unknown,
  about: { isHandedOver: boolean; isStopped: boolean; log: Logger; entry: ClaimedEntry },
): Learnt {
  const { isHandedOver, isStopped, log, entry } = about
  if (error instanceof ClaimLost) return RELEASED
  if (error instanceof RecipientsSuppressed) return { type: 'suppressed', addresses: error.addresses }
  if (error instanceof ProviderFailure && (error.isBeforeAcceptance || !isHandedOver)) {
    const { retryAfterSeconds } = error
    if (error.isBusy) return { type: 'released', afterSeconds: retryAfterSeconds }
    if (isStopped || error.kind === 'account_deleted') return RELEASED
    return { type: 'trouble', error: sendErrorOf(error), retryAfterSeconds, isOfAccount: true }
  }
  if (isHandedOver) return { type: 'unknown' }
  if (isStopped) return RELEASED
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

/** Tries again while the database is away: the server's answer exists nowhere else. */
async function writeDown(services: AttemptServices, ended: EndedAttempt): Promise<AttemptOutcome> {
  const { entry } = ended
  const until = performance.now() + WRITE_DOWN_SECONDS_MAX * 1_000
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 10)) {
    try {
      await services.reach('outcome_commit', entry.id)
      const outcome = await services.records.end(ended)
      await services.reach('outcome_recorded', entry.id)
      return outcome
    } catch (error) {
      if (performance.now() > until) throw error
      services.log.warn({ outboxId: entry.id, error }, 'The outcome of a send is not yet written down')
      await pause(seconds * 1_000)
    }
  }
}
