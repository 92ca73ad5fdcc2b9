import type {
  EventResponse,
  ItemPlace,
  MemberPlace,
  WriteOptions,
  WrittenEvents,
} from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { ignoredSchema } from '../../resources.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { pathOfEvent } from '../pages.ts'
import { requireMember } from './members.ts'
import { type EventThere, requireThere, type Writing, writing, written } from './there.ts'

const ACTIONS = { accepted: 'accept', tentative: 'tentativelyAccept', declined: 'decline' } as const

/** `CalendarsWriter.respond`. A declined event leaves the calendar, unless the mailbox keeps it. */
export function respond(
  connection: CalendarsConnection,
  {
    place,
    part,
    response,
    comment,
  }: { place: ItemPlace; part: { type: 'all' } | ({ type: 'member' } & MemberPlace) } & EventResponse,
  options: WriteOptions,
): Promise<WrittenEvents> {
  return writing(connection, place.calendarKey, options, async work => {
    const { key } = place
    const there = await requireThere(work, key)
    const isWhole = part.type === 'all'
    const occurrence = isWhole ? there : await requireMember(work, there, part)
    await askAction(work, occurrence, ACTIONS[response], { comment, isTold: options.notify })
    const isTaken = response === 'declined' && (await isGone(work, occurrence.item.id))
    if (!isTaken) return written(work, [key])
    if (isWhole) return { items: [], gone: [place], place }
    return written(work, [key], occurrence.event.type === 'exception' ? [occurrence.item.id] : [])
  })
}

/** Whether the calendar no longer has an event. Mailboxes may keep those that were declined. */
export async function isGone(work: Writing, key: string): Promise<boolean> {
  try {
    await requireThere(work, key)
    return false
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return true
    throw error
  }
}

/** learn.microsoft.com/graph/api/event-accept, event-tentativelyaccept and event-decline */
export async function askAction(
  { effect, place }: Writing,
  { item }: EventThere,
  action: (typeof ACTIONS)[keyof typeof ACTIONS],
  { comment, isTold }: { comment: string | null; isTold: boolean },
): Promise<void> {
  // Exchange refuses a response that the organizer has not asked for.
  const sendResponse = isTold && item['responseRequested'] !== false
  await effect.ask({
    method: 'POST',
    path: `${pathOfEvent(place.calendarKey, item.id)}/${action}`,
    json: { ...(comment !== null && sendResponse && { comment }), sendResponse },
    schema: ignoredSchema,
    accepts: [200, 202],
  })
}
