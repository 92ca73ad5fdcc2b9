import type {
  EventResponse,
  ItemPlace,
  MemberPlace,
  WriteOptions,
  WrittenEvents,
} from '../../../changing-calendars.ts'
import { ignoredSchema } from '../../resources.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { pathOfEvent } from '../pages.ts'
import { requireMember } from './members.ts'
import { requireThere, type Writing, writing, written } from './there.ts'

const ACTIONS = { accepted: 'accept', tentative: 'tentativelyAccept', declined: 'decline' } as const

/** `CalendarsWriter.respond`. A declined event leaves the calendar. */
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
    const answered = occurrence.item.id
    await askAction(work, answered, ACTIONS[response], { comment, isTold: options.notify })
    if (response !== 'declined') return written(work, [key])
    if (isWhole) return { items: [], gone: [place], place }
    return written(work, [key], occurrence.event.type === 'exception' ? [answered] : [])
  })
}

/** learn.microsoft.com/graph/api/event-accept, event-tentativelyaccept and event-decline */
export async function askAction(
  { effect, place }: Writing,
  key: string,
  action: (typeof ACTIONS)[keyof typeof ACTIONS],
  { comment, isTold }: { comment: string | null; isTold: boolean },
): Promise<void> {
  await effect.ask({
    method: 'POST',
    path: `${pathOfEvent(place.calendarKey, key)}/${action}`,
    json: { ...(comment !== null && isTold && { comment }), sendResponse: isTold },
    schema: ignoredSchema,
    accepts: [200, 202],
  })
}
