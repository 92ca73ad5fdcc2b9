import { FenceLost } from '../../../accounts/halves/ownership.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { WriteOptions, WrittenEvents } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { askAgain, isFinal } from '../writing/ask-events.ts'
import {
  claimLeftIntent,
  endIntent,
  type LeftIntent,
  readIntent,
  whileLeased,
  type WriteIntent,
} from '../writing/intents.ts'
import { sendsNothing } from '../writing/mails.ts'
import {
  type LockedCalendars,
  markWritten,
  type RecordingWritten,
  recordWritten,
} from '../writing/record-written.ts'
import { lookAtIndex, Overtaken, requireSeen, type SeenState } from '../writing/seen-state.ts'
import { type Session, underFence } from './session.ts'

/** Writes that one pass finishes. */
const INTENTS_MAX = 20

/**
 * Finishes writes whose requests have ended without recording them: their calls are repeated, which goes on where they
 * stopped. A creation, a split or a move of which the provider has nothing has not begun, and is forgotten. A write that
 * cannot be finished now is left to a later pass, for a day.
 */
export async function finishIntents(session: Session, window: CalendarWindow): Promise<void> {
  const { db, owned, signal } = session
  const tried: string[] = []
  while (tried.length < INTENTS_MAX) {
    signal.throwIfAborted()
    const left = await claimLeftIntent(db, owned.id, tried)
    if (!left) return
    tried.push(left.id)
    await whileLeased(db, left.id, () => finishOrLeave(session, left, window))
    session.progressed()
  }
}

/** One write that cannot be finished keeps neither the others nor the calendars from being followed. */
async function finishOrLeave(session: Session, left: LeftIntent, window: CalendarWindow): Promise<void> {
  const { owned, signal, log } = session
  const about = { accountId: owned.id }
  if (left.isFatal) return giveUp(session, left, new Error('Each try has ended its process'))
  try {
    return await finishOne(session, left, window)
  } catch (error) {
    if (signal.aborted || error instanceof FenceLost) throw error
    const isProviders = error instanceof ProviderFailure
    if (!left.isOld && !(isProviders && isFinal(error))) {
      if (!isProviders)
        log.error({ ...about, error }, 'A write of an event could not be finished, and is tried again')
      return
    }
    await giveUp(session, left, error)
  }
}

/** Ends a write that another try would not help. The sync records what there is. */
async function giveUp(session: Session, left: LeftIntent, error: unknown): Promise<void> {
  const { owned, log, mails, onGivenUp } = session
  const { id: accountId, tenantId } = owned
  await underFence(session, unit => endIntent(unit, accountId, left.id))
  const { item, mailed } = summaryOf(left)
  const eventId = item?.id ?? null
  log.warn({ accountId, eventId, error }, 'A write of an event was given up before it was finished')
  onGivenUp?.()
  if (mailed) mails?.drop({ tenantId, accountId, eventId, error })
}

/** The parts of a noted write that reports name, whatever form it has. */
function summaryOf({ id, stored }: LeftIntent): Pick<WriteIntent, 'item' | 'mailed'> {
  try {
    const { item, mailed } = readIntent(id, stored)
    return { item, mailed }
  } catch {
    return { item: null, mailed: null }
  }
}

async function finishOne(session: Session, left: LeftIntent, window: CalendarWindow): Promise<void> {
  const { db, owned, planner, mails } = session
  const { id } = left
  const intent = readIntent(id, left.stored)
  const { asked, item, mailed } = intent
  const seen = await lookAtIndex(db, owned.id, item?.id ?? null)
  const isLatest = seen.item?.version === item?.version
  let refused: unknown = null
  const written = await finish(session, intent, { window, isLatest, onHalfDone: error => (refused = error) })
  const isMoved = asked.type === 'change' && asked.toCalendarKey !== null
  const queue =
    written && mailed && mails
      ? await mails.prepare(owned, { id, intent, written, isOvertaken: !isLatest })
      : sendsNothing
  const recording = { window, movedId: isMoved && item ? item.id : null }
  const isEnded = await planner.run(owned.id, items =>
    underFence(session, async (unit, account, own) => {
      const isRecorded =
        written === null ||
        (await recordLatest(
          unit,
          { account, own },
          { written, seen, recording: { ...recording, planner: items } },
        ))
      // Its mails fit the state that was recorded. Its request may have recorded it and queued them meanwhile.
      const ends = isRecorded && (await endIntent(unit, owned.id, id))
      if (ends) await queue(unit)
      return ends
    }),
  )
  if (isEnded && refused !== null) reportHalfDone(session, item?.id ?? null, refused)
}

/** The move of a write stands, and its change is given up. */
function reportHalfDone({ owned, log, onGivenUp }: Session, eventId: string | null, error: unknown): void {
  log.warn(
    { accountId: owned.id, eventId, error },
    'An event was moved to another calendar, but its change was given up before it was made',
  )
  onGivenUp?.()
}

/**
 * Records a finished write.
 * @returns false if the interface has recorded another state meanwhile, which stays: the provider is asked about it, and the write
 * is left to a later pass
 */
async function recordLatest(
  unit: UnitOfWork,
  locked: LockedCalendars,
  { written, seen, recording }: { written: WrittenEvents; seen: SeenState; recording: RecordingWritten },
): Promise<boolean> {
  try {
    await requireSeen(unit, locked.account.id, written, seen)
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
    await markWritten(unit, locked.account.id, written)
    return false
  }
  await recordWritten(unit, locked, written, recording)
  return true
}

/** @returns null if it had not begun */
async function finish(
  { db, owned, provider, signal }: Session,
  intent: WriteIntent,
  {
    window,
    isLatest,
    onHalfDone,
  }: { window: CalendarWindow; isLatest: boolean; onHalfDone: (error: unknown) => void },
): Promise<WrittenEvents | null> {
  const { own, self } = await findCalendarFacts(db, owned.id)
  const { asked, notify, concernsOthers } = intent
  const options: WriteOptions = { self, own, notify, concernsOthers, window }
  return askAgain(provider, asked, { options, isLatest, signal, onHalfDone })
}
