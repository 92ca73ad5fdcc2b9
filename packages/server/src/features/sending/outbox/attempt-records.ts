import type { Db } from '../../../database/pool.ts'
import { DatabaseUnavailable } from '../../../database/unavailable.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { inGroupsByKey } from '../../../kit/in-groups.ts'
import type { SendingProvider, SendOutcome } from '../../../providers/sending.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { recordSuppressed } from '../suppressions/record-suppressed.ts'
import type { Claim, ClaimedEntry } from './claims.ts'
import type { EndNews, OnEnded } from './end-news.ts'
import { holdAfterRestore } from './held.ts'
import {
  type HandOver,
  type HandOverResult,
  type Outcome,
  recordHandOvers,
  recordOutcomes,
  recordPause,
  recordPrepared,
  recordReleased,
  recordUnknown,
  recordWait,
  type SentTask,
} from './record-attempt.ts'
import {
  type NextState,
  OUTCOME_UNKNOWN,
  planGivenUp,
  planOutcome,
  planSuppressed,
  planTrouble,
  type SendError,
} from './rules.ts'
import { planLookUpSeconds } from './schedule.ts'
import { readClock } from './store.ts'

/** The outcome of an attempt, for metrics. */
export type AttemptOutcome = 'sent' | 'retried' | 'failed' | 'unknown' | 'released'

/** The result of an attempt, which is still to be recorded. */
export type Learnt =
  | {
      type: 'answered'
      outcome: SendOutcome
      filesCopy: SendingProvider['filesCopy']
      bytesMax: number | null
    }
  | { type: 'failed'; error: SendError }
  | { type: 'suppressed'; addresses: ReadonlySet<string> }
  | { type: 'trouble'; error: SendError; retryAfterSeconds: number | null; isOfAccount: boolean }
  | { type: 'unknown' }
  /** `afterSeconds`: when there is room for the account again; null: at once. */
  | { type: 'released'; afterSeconds: number | null }

export interface EndedAttempt {
  entry: ClaimedEntry
  account: AccountView | null
  learnt: Learnt
}

/** Records the progress of attempts. Each call returns after the commit; calls of one tenant share commits. */
export interface AttemptRecords {
  /** Records that the attempt may leave a prepared copy at the provider. @returns false if its claim is lost */
  prepare(attempt: Claim): Promise<boolean>
  handOver(handOver: HandOver): Promise<HandOverResult>
  end(ended: EndedAttempt): Promise<AttemptOutcome>
}

/** Attempts whose hand-overs or ends are committed together. */
const GROUP_MAX = 50

/**
 * Hand-overs and ends of a tenant's attempts that arrive while one of its commits runs are written by the next one. The
 * ends would wait for each other anyway, since the events of a tenant are in order. Tenants do not wait for each other.
 * @param onEnded called with the refused recipients that were announced, and with invitations that failed
 */
export function attemptRecords(db: Db, onEnded: OnEnded): AttemptRecords {
  const options = {
    itemsMax: GROUP_MAX,
    failsAlone: (error: unknown) => error instanceof DatabaseUnavailable,
  }
  return {
    prepare: inGroupsByKey({
      ...options,
      keyOf: ({ tenantId }: Claim) => tenantId,
      work: (_, all) => recordPrepared(db, all),
    }),
    handOver: inGroupsByKey({
      ...options,
      keyOf: ({ attempt }: HandOver) => attempt.tenantId,
      work: (tenantId, all) => recordHandOvers(db, tenantId, all),
    }),
    end: inGroupsByKey({
      ...options,
      keyOf: ({ entry }: EndedAttempt) => entry.tenantId,
      async work(tenantId, all) {
        const { names, news, accepted } = await recordEnds(db, tenantId, all)
        onEnded(news)
        if (accepted.length > 0) onEnded(await recordLateAcceptance(db, tenantId, accepted))
        return names
      },
    }),
  }
}

/** Commits how attempts of one tenant ended. */
function recordEnds(
  db: Db,
  tenantId: string,
  all: readonly EndedAttempt[],
): Promise<{ names: AttemptOutcome[]; news: EndNews; accepted: Outcome[] }> {
  return inTransaction(db, tenantId, async unit => {
    // Rows of accounts are locked in the same order each time, so that no two groups wait for each other.
    const inOrder = all.toSorted((a, b) => (a.entry.accountId < b.entry.accountId ? -1 : 1))
    const now = inOrder.some(isTimed) ? await readClock(unit.sql) : UNREAD
    const outcomes = new Map(inOrder.map(ended => [ended, planEnd(ended, now)]))
    const { counts, suppressions, lost, failed } = await recordOutcomes(
      unit,
      [...outcomes.values()].filter(outcome => outcome !== null),
    )
    for (const { entry, learnt } of inOrder) {
      if (learnt.type === 'released') {
        await recordReleased(unit, entry)
        if (learnt.afterSeconds !== null) await recordWait(unit, entry.accountId, learnt.afterSeconds)
      }
      if (learnt.type === 'unknown' && !entry.isSent)
        await recordUnknown(unit, entry, planLookUpSeconds(0) ?? 0)
      if (learnt.type === 'trouble' && learnt.isOfAccount) await recordPause(unit, entry.accountId, learnt)
    }
    // Lists are locked after everything that another group may hold while it waits for them.
    await recordSuppressed(unit, suppressions)
    return {
      names: all.map(ended => nameOf(ended, outcomes.get(ended) ?? null)),
      news: { counts, failed },
      accepted: lost.filter(({ next }) => next.status === 'sent'),
    }
  })
}

/**
 * Writes down that messages were accepted whose claims are lost. If the database went back, this may come before they are
 * held, so they are held first.
 */
async function recordLateAcceptance(
  db: Db,
  tenantId: string,
  accepted: readonly Outcome[],
): Promise<EndNews> {
  await holdAfterRestore(db)
  return inTransaction(db, tenantId, async unit => {
    const { counts, suppressions, failed } = await recordOutcomes(unit, accepted)
    await recordSuppressed(unit, suppressions)
    return { counts, failed }
  })
}

/** A time that nothing depends on. */
const UNREAD = new Date(Number.NaN)

/** Whether the outcome depends on the time: most messages are accepted for all recipients. */
function isTimed({ learnt }: EndedAttempt): boolean {
  if (learnt.type !== 'answered') return true
  return learnt.outcome.recipients.some(({ refusal }) => refusal !== null)
}

/** The outcome to write; null if the attempt has none, or an unknown one. */
function planEnd({ entry, account, learnt }: EndedAttempt, now: Date): Outcome | null {
  const ends = (next: NextState): Outcome => ({
    attempt: entry,
    next,
    task: null,
    given: NOTHING_GIVEN,
    answered: null,
  })
  switch (learnt.type) {
    case 'released':
      return null
    case 'unknown':
      return entry.isSent ? ends(planGivenUp(entry, entry.waiting, OUTCOME_UNKNOWN)) : null
    case 'failed':
      return ends(planGivenUp(entry, entry.waiting, learnt.error))
    case 'suppressed':
      return ends(planSuppressed(entry, entry.waiting, { ...learnt, now }))
    case 'trouble':
      return ends(planTrouble(entry, entry.waiting, { ...learnt, now }))
    case 'answered': {
      const { recipients, given } = learnt.outcome
      const next = planOutcome(entry, recipients, now)
      const task = taskOf(account, learnt, entry)
      return { attempt: entry, next, task, given, answered: { bytesMax: learnt.bytesMax } }
    }
  }
}

function nameOf({ learnt }: EndedAttempt, outcome: Outcome | null): AttemptOutcome {
  if (!outcome) return learnt.type === 'released' ? 'released' : 'unknown'
  const { status } = outcome.next
  return status === 'sent' ? 'sent' : status === 'queued' ? 'retried' : 'failed'
}

export const NOTHING_GIVEN: SendOutcome['given'] = { key: null, threadId: null }

function taskOf(
  account: AccountView | null,
  { outcome: { given }, filesCopy }: Extract<Learnt, { type: 'answered' }>,
  { isReply, eventId }: ClaimedEntry,
): SentTask {
  // As with servers that send invitations themselves, the sent mail has no copy.
  if (eventId !== null) return null
  if (given.key !== null) return 'link_copy'
  if (filesCopy !== 'always' && account?.imap?.appendSent) return 'file_copy'
  return isReply ? 'mark_original' : null
}
