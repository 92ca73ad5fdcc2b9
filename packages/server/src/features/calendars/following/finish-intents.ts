import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { CalendarsWriter, WriteOptions, WrittenEvents } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { oneAfterTheOther } from '../writing/ask-events.ts'
import { claimLeftIntent, endIntent, type LeftIntent, whileLeased } from '../writing/intents.ts'
import { recordWritten } from '../writing/record-written.ts'
import { type Session, underFence } from './session.ts'

/** Writes that one pass finishes. */
const INTENTS_MAX = 20

/**
 * Finishes writes of several calls whose requests have ended without recording them. If the provider has what such a write
 * makes, its calls are repeated, which goes on where they stopped; else it has not begun, and is forgotten. A write that the
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
  const { owned, planner } = session
  let written: WrittenEvents | null
  try {
    written = await finish(session, left, window)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    if (!isFinal(error) && !left.isOld) return
    // Another try would not help, and the sync records what there is.
    written = null
  }
  const movedId = left.intent.toCalendarKey === null ? null : left.intent.itemId
  await planner.run(owned.id, items =>
    underFence(session, async (unit, account, own) => {
      const recording = { window, planner: items, movedId }
      if (written) await recordWritten(unit, { account, own }, written, recording)
      await endIntent(unit, owned.id, left.id)
    }),
  )
}

const isFinal = ({ isPermanent, kind }: ProviderFailure) => isPermanent || kind === 'conflict'

/** @returns null if it had not begun */
async function finish(
  { db, owned, provider, signal }: Session,
  { id: creationId, intent }: LeftIntent,
  window: CalendarWindow,
): Promise<WrittenEvents | null> {
  const { writer } = provider
  const { place, part, change, toCalendarKey, notify, concernsOthers } = intent
  const calendarKey = toCalendarKey ?? place.calendarKey
  const made = await writer.findCreated({ calendarKey, creationId }, signal)
  if (made === null) return null
  const { own, self } = await findCalendarFacts(db, owned.id)
  const options: WriteOptions = { self, own, notify, concernsOthers, window }
  if (part.type === 'following')
    return writer.changeEvent({ place, part: { ...part, mayExist: true }, change }, options)
  const moved = await writer.moveEvent(
    { place, toCalendarKey: calendarKey, creationId, mayExist: true },
    { ...options, concernsOthers: false },
  )
  return Object.keys(change).length === 0 ? moved : changeMoved(writer, { moved, part, change }, options)
}

/** Changes a moved item. If that is refused, the move stands. */
async function changeMoved(
  writer: CalendarsWriter,
  { moved, part, change }: { moved: WrittenEvents } & Pick<LeftIntent['intent'], 'part' | 'change'>,
  options: WriteOptions,
): Promise<WrittenEvents> {
  try {
    const changed = await writer.changeEvent({ place: moved.place, part, change }, options)
    return oneAfterTheOther(moved, changed)
  } catch (error) {
    if (error instanceof ProviderFailure && isFinal(error)) return moved
    throw error
  }
}
