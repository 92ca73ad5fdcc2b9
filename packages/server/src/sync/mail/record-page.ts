import { remoteIdsOf } from '../../features/mail/messages/keys.ts'
import { recordArrivals } from '../../features/mail/messages/record-arrivals.ts'
import { markMissing, recordDeleted } from '../../features/mail/messages/record-missing.ts'
import { recordStates, type StateChange } from '../../features/mail/messages/record-states.ts'
import type { FollowedSource } from '../../features/mail/messages/rules.ts'
import type { GoneStep, MessageKey, PageStep, StatesStep } from '../../providers/mail.ts'
import { quarantine } from './quarantine.ts'
import { changedKeysIn } from './changed-keys.ts'
import { ChangedMeanwhile, mailboxesOf, recordCursor, type Session, underFence } from './session.ts'

/**
 * Records all steps of a page in the order in which they happened, and the cursor behind them, in one transaction.
 * @throws ChangedMeanwhile if a step concerns a message that the interface changed, and may be older than the change
 */
export async function recordPage(session: Session, followed: FollowedSource, page: PageStep): Promise<void> {
  const steps = page.steps.map(step => prepare(session, followed, step))
  await underFence(session, async (unit, account) => {
    const changed = await changedKeysIn(unit.sql, session, followed)
    if (changed.size > 0 && page.steps.some(step => keysOf(step).some(key => changed.has(key))))
      throw new ChangedMeanwhile()
    for (const record of steps) await record(unit, account)
    await recordCursor(unit, session, followed, page.cursor)
  })
  const hasArrived = page.steps.some(step => step.type === 'arrived' && step.messages.length > 0)
  if (session.isInitialized && hasArrived) session.hasMail()
}

function keysOf(step: PageStep['steps'][number]): MessageKey[] {
  if (step.type === 'gone') return step.keys
  return (step.type === 'states' ? step.changes : step.messages).map(({ key }) => key)
}

type Record = Parameters<typeof underFence<void>>[1]

function prepare(session: Session, followed: FollowedSource, step: PageStep['steps'][number]): Record {
  if (step.type === 'states') {
    const changes = changesOf(session, step.changes)
    return (unit, account) => recordStates(unit, account, followed, changes)
  }
  if (step.type === 'gone') return recordGoneIn(followed, step)
  const arrivals = step.messages.map(message => ({
    message,
    mailboxes: mailboxesOf(session, message.mailboxKeys),
  }))
  return async (unit, account) => {
    await recordArrivals(unit, account, arrivals, step.origin !== 'widened')
    await quarantine(unit, account.id, followed.source, step.unreadable)
  }
}

function recordGoneIn(followed: FollowedSource, { keys, certainty }: GoneStep): Record {
  if (certainty === 'proof') return (unit, account) => recordDeleted(unit, account, remoteIdsOf(keys))
  return (unit, account) => markMissing(unit, account, followed, keys)
}

/** The changes of a step, with the mailboxes that its keys name. @throws MailboxUnlisted */
export function changesOf(session: Session, changes: StatesStep['changes']): StateChange[] {
  return changes.map(({ key, flags, mailboxKeys }) => ({
    key,
    flags,
    mailboxes: mailboxKeys && mailboxesOf(session, mailboxKeys),
  }))
}
