import { remoteIdsOf } from '../messages/location.ts'
import { recordArrivals } from '../messages/record-arrivals.ts'
import { type Arrival } from '../messages/arrival.ts'
import { listingChangedKeys, toChangedKey } from '../messages/record-changed-keys.ts'
import { markMissing, recordDeleted } from '../messages/record-missing.ts'
import { recordStates, type StateChange } from '../messages/record-states.ts'
import { listContentKeys } from '../messages/store.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { FollowedSource, MailAccount } from '../messages/rules.ts'
import type {
  ArrivedStep,
  GoneStep,
  MessageKey,
  PageStep,
  RemoteMessage,
  StatesStep,
} from '../../../providers/mail.ts'
import { quarantine } from './quarantine.ts'
import { changedKeysIn } from './changed-keys.ts'
import { isDataError, recordPiecemeal } from './record-piecemeal.ts'
import {
  ChangedMeanwhile,
  handOverRecorded,
  mailboxesOf,
  readUnderFence,
  recordCursor,
  type Session,
} from './session.ts'

type Parts = PageStep['steps']

/**
 * Records all steps of a page in the order in which they happened, and the cursor behind them, in one transaction.
 * Messages that the database refuses are left out, as unreadable ones.
 * @throws ChangedMeanwhile if a message arrived or is gone that the interface changed, and may be older than the change
 */
export async function recordPage(session: Session, followed: FollowedSource, page: PageStep): Promise<void> {
  /** Ids of an attempt that was rolled back do no harm, since they match no row. */
  const recorded: string[] = []
  try {
    await recordParts(session, followed, page, recorded)
  } catch (error) {
    if (!isDataError(error)) throw error
    const rest = await withoutArrivals(session, followed, page, recorded)
    await recordParts(session, followed, rest, recorded)
  }
  await handOverRecorded(session, arrivedIn(page.steps), recorded)
}

const arrivedIn = (parts: Parts): RemoteMessage[] =>
  parts.flatMap(part => (part.type === 'arrived' ? part.messages : []))

/** @param recorded takes the ids of the messages that are recorded */
async function recordParts(
  session: Session,
  followed: FollowedSource,
  page: PageStep,
  recorded: string[],
): Promise<void> {
  const records = page.steps.map(part => prepare(session, followed, part, recorded))
  const reading = [listingChangedKeys(session.owned.id, followed.source)] as const
  await readUnderFence(session, reading, async (unit, account, [rows]) => {
    const changed = new Set(rows.map(row => toChangedKey(row).key))
    await requireUnchanged(unit, session, page.steps, changed)
    for (const record of records) await record(unit, account, changed)
    await recordCursor(unit, session, followed, page.cursor)
  })
}

/**
 * Records the arrivals of a page piece by piece.
 * @param recorded takes the ids of the messages that are recorded
 * @returns the rest of the page, with the arrivals that the database refused
 */
async function withoutArrivals(
  session: Session,
  followed: FollowedSource,
  page: PageStep,
  recorded: string[],
): Promise<PageStep> {
  const steps: Array<Parts[number]> = []
  for (const part of page.steps) {
    if (part.type !== 'arrived') {
      steps.push(part)
      continue
    }
    const refused = await recordPiecemeal(
      session,
      arrivalsOf(session, part),
      async (unit, account, arrivals) => {
        const messages = arrivals.map(({ message }) => message)
        const changed = await changedKeysIn(unit.sql, session, followed)
        await requireUnchanged(unit, session, [{ ...part, messages }], changed)
        const { ids } = await recordArrivals(unit, account, arrivals, isNews(part))
        recorded.push(...ids)
      },
    )
    steps.push({ ...part, messages: [], unreadable: [...part.unreadable, ...refused] })
  }
  return { ...page, steps }
}

/**
 * If a page has only the state of a message that the interface changed, it is recorded without that state, since the
 * message is looked up again.
 * @param changed the keys that the interface changed
 * @throws ChangedMeanwhile
 */
async function requireUnchanged(
  unit: UnitOfWork,
  session: Session,
  parts: Parts,
  changed: ReadonlySet<MessageKey>,
): Promise<void> {
  if (changed.size > 0 && (await concerns(unit, session.owned.id, parts, changed)))
    throw new ChangedMeanwhile()
}

/** Whether a changed message arrived or is gone, or the content of a draft arrived that the interface changed. */
async function concerns(
  unit: UnitOfWork,
  accountId: string,
  parts: Parts,
  changed: ReadonlySet<MessageKey>,
): Promise<boolean> {
  const arrived = arrivedIn(parts)
  const gone = parts.flatMap(part => (part.type === 'gone' ? part.keys : []))
  if ([...arrived.map(({ key }) => key), ...gone].some(key => changed.has(key))) return true
  const draftKeys = arrived.flatMap(({ draftKey }) => draftKey ?? [])
  if (draftKeys.length === 0) return false
  return (await listContentKeys(unit.sql, accountId, draftKeys)).some(key => changed.has(key))
}

type Record = (unit: UnitOfWork, account: MailAccount, changed: ReadonlySet<MessageKey>) => Promise<void>

function prepare(
  session: Session,
  followed: FollowedSource,
  part: Parts[number],
  recorded: string[],
): Record {
  if (part.type === 'states') {
    const changes = changesOf(session, part.changes)
    return (unit, account, changed) =>
      recordStates(
        unit,
        account,
        followed,
        changes.filter(({ key }) => !changed.has(key)),
      )
  }
  if (part.type === 'gone') return recordGoneIn(followed, part)
  const arrivals = arrivalsOf(session, part)
  return async (unit, account) => {
    const { ids } = await recordArrivals(unit, account, arrivals, isNews(part))
    recorded.push(...ids)
    await quarantine(unit, account.id, followed.source, part.unreadable)
  }
}

const isNews = ({ origin }: ArrivedStep): boolean => origin !== 'widened'

function arrivalsOf(session: Session, { messages }: ArrivedStep): Arrival[] {
  return messages.map(message => ({ message, mailboxes: mailboxesOf(session, message.mailboxKeys) }))
}

function recordGoneIn(followed: FollowedSource, { keys, certainty, drafts = [] }: GoneStep): Record {
  if (certainty === 'proof')
    return async (unit, account) => {
      await recordDeleted(unit, account, remoteIdsOf(keys), { contents: drafts, areRead: true })
    }
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
