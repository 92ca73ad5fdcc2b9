import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { Logger } from '../../../kit/log.ts'
import type { NewLocation } from '../../../providers/changing.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { LookUp } from '../../../providers/sending.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { findLocation, knownOf } from '../../mail/messages/location.ts'
import { copyForm } from '../compose/stored-content.ts'
import type { FailedInvitation } from '../invitations/failures.ts'
import { noNews, type OnEnded } from './end-news.ts'
import { linkCopy } from './link-copy.ts'
import type { ReachSendPoint } from './points.ts'
import {
  type CopyOutcome,
  type FiledCopy,
  recordAccountGone,
  recordCopyDone,
  recordFiling,
  recordFound,
  recordLost,
  recordNotAccepted,
  recordPutOff,
  recordTaskDone,
  type LookUpTask,
  type MailboxTask,
  type Task,
} from './record-task.ts'
import { planCopySearchSeconds, planLookUpSeconds, planTaskPauseSeconds } from './schedule.ts'
import { findCopy, findSentMailbox, readClock } from './store.ts'
import { findStoredContent } from './stored-content.ts'

export interface TaskServices {
  db: Db
  connections: Connections
  accountKeys: AccountKeys
  log: Logger
  reach: ReachSendPoint
  /** Lets the sync look at an account whose mail was changed. */
  wakeSync(accountId: string): void
  onEnded: OnEnded
}

/** A copy that cannot be filed in this time is given up. */
const COPY_HOURS_MAX = 48
const MARK_TRIES_MAX = 5
/** A prepared copy that cannot be discarded in this many tries, over about two days, stays at the provider. */
const DISCARD_TRIES_MAX = 55
/** If nothing answers for this long after a hand-over, the look-ups count nevertheless. */
export const LOOK_UP_HOURS_MAX = 24
/** A provider that asks to slow down without naming a time is asked again after this one. */
const THROTTLED_SECONDS = 60
/** An account that cannot be used now, or a look-up in which the service itself fails, is tried again after this time. */
const UNUSABLE_SECONDS = 600

/** Does one task. Never rejects: one that fails is tried again. */
export async function doTask(services: TaskServices, task: Task, signal: AbortSignal): Promise<void> {
  const { db, log } = services
  try {
    const account = await findAccountView(db, task.tenantId, task.accountId)
    if (task.kind === 'look_up') return await lookUp(services, task, account, signal)
    if (!account) return await inTransaction(db, task.tenantId, unit => recordAccountGone(unit, task))
    if (account.status !== 'active' && task.kind !== 'discard')
      return await recordPutOff(db, task, UNUSABLE_SECONDS, 'wait')
    if (task.kind === 'discard') await discardPrepared(services, task, account, signal)
    else if (task.kind === 'file_copy') await fileCopy(services, task, account, signal)
    else if (task.kind === 'link_copy') await linkCopy(services, task)
    else await markOriginal(services, task, account, signal)
  } catch (error) {
    if (signal.aborted) return
    const fields = { outboxId: task.id, accountId: task.accountId, tenantId: task.tenantId, error }
    if (error instanceof ProviderFailure) log.info(fields, 'A task of a send failed and is tried again')
    else log.error(fields, 'A task of a send failed and is tried again')
    await putOff(services, task).catch((failure: unknown) =>
      log.warn({ ...fields, error: failure }, 'A task of a send could not be put off'),
    )
  }
}

async function putOff(services: TaskServices, task: Task): Promise<void> {
  const { db } = services
  if (task.kind === 'look_up') {
    // Without a task, the send would stay as it is for ever. Such a failure is no try, so the pause stays the longest.
    if (await mayWait(db, task)) return recordPutOff(db, task, UNUSABLE_SECONDS, 'wait')
    return report(services, await inTransaction(db, task.tenantId, unit => recordLost(unit, task)))
  }
  const seconds = planTaskPauseSeconds(task.tries + 1)
  const isOver =
    task.kind === 'file_copy'
      ? (await readClock(db)).getTime() - (task.sentAt ?? task.handedOverAt).getTime() >
        COPY_HOURS_MAX * 3_600_000
      : task.tries + 1 >= (task.kind === 'discard' ? DISCARD_TRIES_MAX : MARK_TRIES_MAX)
  if (!isOver) return recordPutOff(db, task, seconds, 'try')
  services.log.warn({ outboxId: task.id, accountId: task.accountId }, 'A task of a send is given up')
  if (task.kind !== 'file_copy') return recordTaskDone(db, task)
  await inTransaction(db, task.tenantId, unit => recordCopyDone(unit, task, NOT_FILED))
}

/**
 * Finds out what became of a message that was handed over, or may have been before a restore: by its copy in the index,
 * the provider, and its copy there. A look-up for which there was no room does not count, and the last one must have
 * been answered.
 */
async function lookUp(
  services: TaskServices,
  task: LookUpTask,
  account: AccountView | null,
  signal: AbortSignal,
): Promise<void> {
  const { db, reach } = services
  await reach('look_up', task.id)
  const found = await ask(services, task, account, signal).catch(unanswered)
  if (signal.aborted) return
  const seconds = planLookUpSeconds(task.tries)
  const isDecisive = seconds === null || found.outcome === 'not_asked'
  if ('waitSeconds' in found && isDecisive && (await mayWait(db, task)))
    return recordPutOff(db, task, found.waitSeconds, 'wait')
  const failed = await inTransaction(db, task.tenantId, async unit => {
    const { outcome } = found
    if (outcome === 'copied') return recordFound(unit, task, { isCopied: true })
    if (outcome === 'accepted')
      return recordFound(unit, task, { isCopied: !account?.imap?.appendSent, key: found.key })
    // In the history that is lost, what was held may have been tried more than once.
    const isHeld = task.heldSince !== null
    if (outcome === 'not_accepted' && !isHeld) return recordNotAccepted(unit, task, { wasAbsent: false })
    if (seconds !== null) return recordPutOff(unit.sql, task, seconds, 'try')
    // By now, nothing can be under way any more. The absence of a message is believed once.
    if (outcome === 'absent' && !isHeld && !task.wasAbsent)
      return recordNotAccepted(unit, task, { wasAbsent: true })
    return recordLost(unit, task)
  })
  report(services, failed ?? null)
}

function report({ onEnded }: Pick<TaskServices, 'onEnded'>, failed: FailedInvitation | null): void {
  if (failed) onEnded({ ...noNews(), failed: [failed] })
}

const NOT_KNOWN: LookUp = { outcome: 'not_known' }

/** A look-up without an answer. `not_asked`: the quota, or the provider, allows no question before these seconds. */
interface Unanswered {
  outcome: 'not_asked' | 'not_answered'
  waitSeconds: number
}

function unanswered(error: unknown): Unanswered | typeof NOT_KNOWN {
  if (!(error instanceof ProviderFailure)) throw error
  if (error.isPermanent) return NOT_KNOWN
  const isAsked = !error.isBusy && error.kind !== 'throttled'
  const seconds = error.retryAfterSeconds ?? (isAsked ? UNUSABLE_SECONDS : THROTTLED_SECONDS)
  return { outcome: isAsked ? 'not_answered' : 'not_asked', waitSeconds: Math.min(seconds, UNUSABLE_SECONDS) }
}

async function mayWait(db: Db, { handedOverAt, heldSince }: Task): Promise<boolean> {
  return (
    (await readClock(db)).getTime() - (heldSince ?? handedOverAt).getTime() < LOOK_UP_HOURS_MAX * 3_600_000
  )
}

async function ask(
  { db, connections, reach }: TaskServices,
  task: Task,
  account: AccountView | null,
  signal: AbortSignal,
): Promise<LookUp | { outcome: 'copied' }> {
  if (await findCopy(db, task)) return { outcome: 'copied' }
  if (account?.status !== 'active') return NOT_KNOWN
  const { internetMessageId, handedOverAt, trace, id: outboxId } = task
  const known = await connections.use(
    reachedAs(account),
    'sending',
    provider => provider.lookUp({ internetMessageId, outboxId, trace, handedOverAt }),
    { isRepeatable: true, signal },
  )
  if (known.outcome !== 'not_known') return known
  const sentKey = await findSentMailbox(db, task.accountId)
  if (sentKey === null) return NOT_KNOWN
  await reach('copy_search', task.id)
  const copies = await connections.use(
    reachedAs(account),
    'changing',
    provider => provider.find(sentKey, internetMessageId),
    { isRepeatable: true, signal },
  )
  return copies.length > 0 ? { outcome: 'copied' } : NOT_KNOWN
}

/** Files the copy of a sent message, unless the server filed one by itself. */
async function fileCopy(
  services: TaskServices,
  task: Task,
  account: AccountView,
  signal: AbortSignal,
): Promise<void> {
  const { db, connections, reach } = services
  const done = (outcome: CopyOutcome) =>
    inTransaction(db, task.tenantId, unit => recordCopyDone(unit, task, outcome))
  const stored = account.imap?.appendSent ? await findStoredContent(services, account, task.id) : null
  if (!stored) return done(NOT_FILED)
  await reach('copy_search', task.id)
  const filed = await connections.use(
    reachedAs(account),
    'changing',
    async (provider): Promise<CopyOutcome | number> => {
      const { mailbox } = await provider.requireMailbox('sent')
      const copies = await provider.find(mailbox.key, task.internetMessageId)
      const [found] = copies
      // After a try that was interrupted, the newest one counts as ours.
      if (found)
        return { isFiledByServer: !task.mayBeFiled, filed: task.mayBeFiled ? filedAt(found.location) : null }
      const seconds = planCopySearchSeconds(task.searches + 1, task.filesCopies)
      if (seconds !== null) return seconds
      signal.throwIfAborted()
      await recordFiling(db, task)
      await reach('copy_append', task.id)
      const { byteLength, open, split } = copyForm(stored, task.datedAt)
      const { location } = await provider.addMessage(mailbox.key, {
        internetMessageId: task.internetMessageId,
        byteLength,
        open,
        split,
        flags: { isRead: true, isFlagged: false, isDraft: false, categories: [] },
        receivedAt: task.datedAt,
        threadId: task.threadId,
      })
      await reach('copy_appended', task.id)
      return { isFiledByServer: false, filed: filedAt(location) }
    },
    { isRepeatable: false, signal },
  )
  if (typeof filed === 'number') return recordPutOff(db, task, filed, 'search')
  await done(filed)
  services.wakeSync(task.accountId)
  await reach('copy_recorded', task.id)
}

const NOT_FILED: CopyOutcome = { isFiledByServer: false, filed: null }

function filedAt(location: NewLocation | null): FiledCopy | null {
  return location && { source: location.source, key: location.key }
}

/** Marks the message that was replied to or forwarded, where that works. */
async function markOriginal(
  { db, connections }: TaskServices,
  task: MailboxTask,
  account: AccountView,
  signal: AbortSignal,
): Promise<void> {
  const location = await findLocation(db, account.id, task.repliedTo ?? task.forwarded ?? '')
  if (location) {
    const { source, cursor, key } = location
    const at = { source, cursor, keys: [key], known: knownOf([location]) }
    const change = task.repliedTo ? { isAnswered: true as const } : { isForwarded: true as const }
    await connections.use(
      reachedAs(account),
      'changing',
      async provider => {
        for await (const _ of provider.changeFlags(at, change));
      },
      { isRepeatable: true, signal },
    )
  }
  await recordTaskDone(db, task)
}

/**
 * Discards what attempts of a send that ended unsent have prepared at the provider. A try for an account that cannot be
 * used now counts, so that this ends.
 */
async function discardPrepared(
  services: TaskServices,
  task: MailboxTask,
  account: AccountView,
  signal: AbortSignal,
): Promise<void> {
  const { db, connections, reach } = services
  if (account.status !== 'active') return putOff(services, task)
  const { internetMessageId, trace } = task
  await reach('discard', task.id)
  await connections.use(
    reachedAs(account),
    'sending',
    async provider => provider.discard?.({ internetMessageId, trace }),
    { isRepeatable: true, signal },
  )
  await reach('discarded', task.id)
  await recordTaskDone(db, task)
}
