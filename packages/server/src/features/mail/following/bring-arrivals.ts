import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { uidsOf } from '../messages/location.ts'
import { recordArrivals } from '../messages/record-arrivals.ts'
import { type Arrival } from '../messages/arrival.ts'
import {
  type ChangedKey,
  listChangedKeys,
  listingChangedKeys,
  toChangedKey,
} from '../messages/record-changed-keys.ts'
import { markMissing, missUnrecognised } from '../messages/record-missing.ts'
import type { FollowedSource, MailAccount } from '../messages/rules.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { ArrivedStep, Cursor, MessageKey, PageStep, UnreadableMessage } from '../../../providers/mail.ts'
import { removedKeysAmong } from './changed-keys.ts'
import { quarantine, releaseFromQuarantine, requestFetch, RETRIES_AT_ONCE } from './quarantine.ts'
import { recordPage } from './record-page.ts'
import { isDataError, recordPiecemeal } from './record-piecemeal.ts'
import {
  followOptions,
  handOverRecorded,
  mailboxesOf,
  readUnderFence,
  recordCursor,
  type Session,
  suspectNumbers,
  underFence,
} from './session.ts'
import {
  countMessages,
  countUnrecognised,
  dropCursor,
  findCursor,
  findingMoveCandidates,
  findReplacedDrafts,
  type MoveCandidate,
  toMoveCandidate,
} from './source-store.ts'

type Arrived = ArrivedStep & { cursor: Cursor }

export interface BringOptions {
  /** Whether to stop before older mail, which is fetched later. */
  onlyNew?: boolean
  /** Whether to stop after a step, since others wait for their turn. */
  mustPause?(): boolean
  /** Called after each step with how much of the source is still to come. */
  onProgress?(recorded: number, remaining: Remaining): Promise<void>
}

/** The part of a source that is still to come, as far as it is known. */
export interface Remaining {
  messages: number
  /** Lower bound; 0 if the provider gives none. */
  seconds: number
}

/**
 * Brings messages of a source that the index lacks into it, one transaction for each step.
 * @returns `paused` when there is more to come
 */
export async function bringArrivals(
  session: Session,
  followed: FollowedSource,
  bring: BringOptions = {},
): Promise<'done' | 'paused'> {
  for (;;) {
    const outcome = await bringOnce(session, followed, bring)
    if (outcome !== 'again') return outcome
  }
}

async function bringOnce(
  session: Session,
  followed: FollowedSource,
  { onlyNew = false, mustPause = () => false, onProgress }: BringOptions,
): Promise<'done' | 'paused' | 'again'> {
  const options = { ...(await followOptions(session, followed)), onlyNew }
  const retries = new Set(options.retry)
  let unsure: { step: Arrived; candidates: MoveCandidate[] } | undefined
  for await (const step of session.provider.arrivals(followed.source, options)) {
    session.progressed()
    if (step.type === 'page') {
      if (onlyNew) return 'paused'
      await recordPage(session, followed, step)
      await onProgress?.(arrivedIn(step), remainingOf(step.steps.filter(part => part.type === 'arrived')))
      if (mustPause()) return 'paused'
      continue
    }
    if (step.type !== 'arrived') continue
    if (onlyNew && step.origin !== 'new') return 'paused'
    const candidates = await recordStep(session, followed, step, retries)
    if (candidates.length > 0) {
      unsure = { step, candidates }
      break
    }
    await onProgress?.(step.messages.length, remainingOf([step]))
    if (mustPause()) return 'paused'
  }
  if (unsure) {
    await missMoved(session, unsure.candidates)
    await recordStep(session, followed, unsure.step, retries, { mayHaveMoved: false })
    return 'again'
  }
  // A message that was to be tried again, and neither arrived nor failed, is gone at the provider.
  if (retries.size > 0) {
    await underFence(session, unit =>
      releaseFromQuarantine(unit, session.owned.id, followed.source, [...retries]),
    )
  }
  if (onlyNew && !session.provider.isComplete(options.cursor, session.since)) return 'paused'
  if (await closeRereading(session, followed)) return 'again'
  return options.retry.length < RETRIES_AT_ONCE ? 'done' : 'again'
}

function remainingOf(steps: readonly ArrivedStep[]): Remaining {
  return {
    messages: Math.max(0, ...steps.map(({ remaining }) => remaining)),
    seconds: Math.max(0, ...steps.map(({ remainingSeconds = 0 }) => remainingSeconds)),
  }
}

function arrivedIn({ steps }: PageStep): number {
  return steps.reduce((sum, step) => sum + (step.type === 'arrived' ? step.messages.length : 0), 0)
}

async function missMoved(session: Session, candidates: readonly MoveCandidate[]): Promise<void> {
  for (const group of Map.groupBy(candidates, ({ source }) => source).values()) {
    const [{ source, mailbox }] = group as [MoveCandidate]
    const { provider, db, owned } = session
    const cursor = await findCursor(db, owned.id, source)
    const at = { source, cursor }
    const known = new Map(group.map(candidate => [candidate.uid, candidate.known]))
    const others = (await provider.findOthers?.(at, known)) ?? []
    session.progressed()
    // Last, as a message may move at any time; one that is another stays so.
    const { gone } = await provider.locate(at, [...known.keys()])
    session.progressed()
    const place = { source, mailboxes: [mailbox] }
    if (others.length > 0) await suspectNumbers(session)
    const missing = [...gone, ...others]
    if (missing.length === 0) continue
    await underFence(session, async (unit, account) => {
      await markMissing(unit, account, place, missing)
      await requestFetch(unit, account.id, source, others)
    })
  }
}

/**
 * Records rows, quarantine, cursor and events in one transaction, unless the index has messages that equal an arrival:
 * copies of it, or messages that moved before this pass could see them vanish. A second look at the provider, after the
 * iteration has ended, decides which. A message with a lasting id needs no second look, since it has that id wherever
 * it moves. Drafts of the same Message-ID are looked up as well: a client that saves a draft again adds the new one and
 * removes the old one.
 * @returns the equal messages; if there are any, nothing was recorded
 */
async function recordStep(
  session: Session,
  followed: FollowedSource,
  step: Arrived,
  retries: Set<MessageKey>,
  { mayHaveMoved = true } = {},
): Promise<MoveCandidate[]> {
  const accountId = session.owned.id
  const arrivals = step.messages.map(message => ({
    message,
    mailboxes: mailboxesOf(session, message.mailboxKeys),
  }))
  const isNews = step.origin !== 'widened'
  /** Ids of an attempt that was rolled back do no harm, since they match no row. */
  const recorded: string[] = []
  const recordThere = async (
    unit: UnitOfWork,
    account: MailAccount,
    recordable: readonly Arrival[],
    changed: readonly ChangedKey[],
  ) => {
    const removed = removedKeysAmong(changed)
    const there = recordable.filter(({ message }) => !removed.has(message.key))
    const { ids } = await recordArrivals(unit, account, there, isNews)
    recorded.push(...ids)
  }
  const commit = (recordable: readonly Arrival[], failed: readonly UnreadableMessage[]) => {
    const [mailbox] = followed.mailboxes
    const isAsked = mayHaveMoved && mailbox && session.isInitialized && isNews
    const numbered = isAsked ? numberedAmong(recordable) : []
    const reading = [
      listingChangedKeys(accountId, followed.source),
      findingMoveCandidates(accountId, mailbox?.id ?? null, numbered),
    ] as const
    return readUnderFence(session, reading, async (unit, account, [changed, moved]) => {
      const candidates = moved.map(row => toMoveCandidate(row))
      if (mailbox?.role === 'drafts' && numbered.length > 0)
        candidates.push(...(await findReplacedDrafts(unit.sql, followed, mailbox, numbered)))
      if (candidates.length > 0) return candidates
      await recordThere(
        unit,
        account,
        recordable,
        changed.map(row => toChangedKey(row)),
      )
      await quarantine(unit, accountId, followed.source, failed)
      const readAfterAll = recordable.map(({ message }) => message.key).filter(key => retries.has(key))
      await releaseFromQuarantine(unit, accountId, followed.source, readAfterAll)
      await recordCursor(unit, session, followed, step.cursor)
      return []
    })
  }
  try {
    const candidates = await commit(arrivals, step.unreadable)
    if (candidates.length > 0) return candidates
  } catch (error) {
    if (!isDataError(error)) throw error
    const refused = await recordPiecemeal(session, arrivals, async (unit, account, recordable) =>
      recordThere(unit, account, recordable, await listChangedKeys(unit.sql, accountId, followed.source)),
    )
    await commit([], [...step.unreadable, ...refused])
  }
  for (const { key } of [...step.messages, ...step.unreadable]) retries.delete(key)
  await handOverRecorded(session, step.messages, recorded)
  return []
}

function numberedAmong(arrivals: readonly Arrival[]) {
  return arrivals.flatMap(({ message: { key, identity, internetMessageId } }) =>
    uidsOf([key]).map(uid => ({ uid, identity, internetMessageId })),
  )
}

/**
 * Closes the reading of a reset source at its end: messages that were not recognised are missing. If these are most of
 * it, they are not given up at once. If keys last, the source is listed again after a while; otherwise it is read once
 * more on another connection.
 * @returns whether it is to be listed again now
 */
async function closeRereading(session: Session, followed: FollowedSource): Promise<boolean> {
  const { db, owned, doubts, provider } = session
  const doubt = `reading ${followed.source}`
  const mailboxIds = followed.mailboxes.map(({ id }) => id)
  const unrecognised = await countUnrecognised(db, owned.id, mailboxIds)
  if (unrecognised === 0) {
    doubts.forget(doubt)
    return false
  }
  const canRelist = provider.relist !== undefined
  if (canRelist && doubts.mustAsk(doubt)) {
    await listAgain(session, followed)
    return true
  }
  const isDoubted = doubts.has(doubt)
  const all = await countMessages(db, mailboxIds)
  if (doubts.believes(doubt, unrecognised, all)) {
    await underFence(session, (unit, account) => missUnrecognised(unit, account, followed))
    return false
  }
  if (isDoubted || canRelist) return false
  await underFence(session, unit => dropCursor(unit, owned.id, followed.source))
  throw new ProviderFailure(
    'unavailable',
    'a mailbox seems to have been emptied; the server is asked once more',
  )
}

async function listAgain(session: Session, followed: FollowedSource): Promise<void> {
  const { db, owned, provider } = session
  const cursor = await findCursor(db, owned.id, followed.source)
  const relisted = cursor && provider.relist?.(cursor)
  if (relisted) await underFence(session, unit => recordCursor(unit, session, followed, relisted))
}
