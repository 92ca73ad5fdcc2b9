import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { WriteOptions, WrittenEvents } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { endIntent, type LeftIntent, listLeftIntents, madeIn } from '../writing/intents.ts'
import { recordWritten } from '../writing/record-written.ts'
import { type Session, underFence } from './session.ts'

/**
 * Finishes writes of several calls whose requests have ended without recording them. If the provider has what such a write
 * makes, its calls are repeated, which goes on where they stopped; else it has not begun, and is forgotten.
 */
export async function finishIntents(session: Session, window: CalendarWindow): Promise<void> {
  const { db, owned } = session
  for (const left of await listLeftIntents(db, owned.id)) {
    session.signal.throwIfAborted()
    const written = await finish(session, left, window).catch((error: unknown) => {
      // Another try would not help, and the sync records what there is.
      if (error instanceof ProviderFailure && (error.isPermanent || error.kind === 'conflict' || left.isOld))
        return null
      throw error
    })
    session.progressed()
    const movedId = left.intent.type === 'move' ? left.intent.itemId : null
    await session.planner.run(owned.id, planner =>
      underFence(session, async (unit, account, own) => {
        const recording = { window, planner, movedId }
        if (written) await recordWritten(unit, { account, own }, written, recording)
        await endIntent(unit, owned.id, left.id)
      }),
    )
  }
}

/** @returns null if it had not begun */
async function finish(
  { db, owned, provider, signal }: Session,
  { id: creationId, intent }: LeftIntent,
  window: CalendarWindow,
): Promise<WrittenEvents | null> {
  const { writer } = provider
  if (!writer) return null
  const made = await writer.findCreated({ calendarKey: madeIn(intent), creationId }, signal)
  if (made === null) return null
  const { own, self } = await findCalendarFacts(db, owned.id)
  const { place, notify, concernsOthers } = intent
  const options: WriteOptions = { self, own, notify, concernsOthers, window }
  if (intent.type === 'split') {
    const part = { ...intent.part, mayExist: true }
    return writer.changeEvent({ place, part, change: intent.change }, options)
  }
  const { toCalendarKey } = intent
  return writer.moveEvent({ place, toCalendarKey, creationId, mayExist: true }, options)
}
