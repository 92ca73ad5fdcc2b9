import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { WriteOptions, WrittenEvents } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { askAgain, isFinal } from '../writing/ask-events.ts'
import { claimLeftIntent, endIntent, type LeftIntent, whileLeased } from '../writing/intents.ts'
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
 * stopped. A creation, a split or a move of which the provider has nothing has not begun, and is forgotten. A write that the
 * provider fails to finish now is left to a later pass.
 */
export async function finishIntents(session: Session, window: CalendarWindow): Promise<void> {
  const { db, owned, signal } = session
  for (let nth = 0; nth < INTENTS_MAX; nth++) {
    signal.throwIfAborted()
    const left = await claimLeftIntent(db, owned.id)
    if (!left) return
    await whileLeased(db, left.id, () => finishOne(session, left, window))
    session.progressed()
  }
}

async function finishOne(session: Session, left: LeftIntent, window: CalendarWindow): Promise<void> {
  const { db, owned, planner, mails } = session
  const { asked, item, mailed } = left.intent
  const seen = await lookAtIndex(db, owned.id, item?.id ?? null)
  const isLatest = seen.item?.version === item?.version
  let written: WrittenEvents | null
  try {
    written = await finish(session, left, { window, isLatest })
  } catch (error) {
    if (!left.isOld && !(error instanceof ProviderFailure && isFinal(error))) {
      if (error instanceof ProviderFailure) return
      throw error
    }
    // Another try would not help, and the sync records what there is.
    written = null
  }
  const isMoved = asked.type === 'change' && asked.toCalendarKey !== null
  const { id, intent } = left
  const isTold = written !== null && mailed !== null && mails !== undefined
  const queue = isTold ? await mails.prepare(owned, { id, intent, written: written! }) : sendsNothing
  const recording = { window, movedId: isMoved && item ? item.id : null }
  await planner.run(owned.id, items =>
    underFence(session, async (unit, account, own) => {
      if (written)
        await recordLatest(
          unit,
          { account, own },
          { written, seen, recording: { ...recording, planner: items } },
        )
      await queue(unit)
      await endIntent(unit, owned.id, id)
    }),
  )
}

/** Records a finished write. A state that the interface has recorded meanwhile stays, and the provider is asked about it. */
async function recordLatest(
  unit: UnitOfWork,
  locked: LockedCalendars,
  { written, seen, recording }: { written: WrittenEvents; seen: SeenState; recording: RecordingWritten },
): Promise<void> {
  try {
    await requireSeen(unit, locked.account.id, written, seen)
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
    return markWritten(unit, locked.account.id, written)
  }
  await recordWritten(unit, locked, written, recording)
}

/** @returns null if it had not begun */
async function finish(
  { db, owned, provider, signal }: Session,
  { intent }: LeftIntent,
  { window, isLatest }: { window: CalendarWindow; isLatest: boolean },
): Promise<WrittenEvents | null> {
  const { own, self } = await findCalendarFacts(db, owned.id)
  const { asked, notify, concernsOthers } = intent
  const options: WriteOptions = { self, own, notify, concernsOthers, window }
  return askAgain(provider, asked, { options, isLatest, signal })
}
