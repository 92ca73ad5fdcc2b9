import { newId } from '../../src/kit/ids.ts'
import type { RemoteItem } from '../../src/providers/calendars.ts'
import type {
  ChangedPart,
  EventChange,
  EventInput,
  WrittenEvents,
} from '../../src/providers/changing-calendars.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { arrangeCalendars } from './arrange-calendars.ts'
import type { GraphServer } from './graph-server.ts'

const WINDOW = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') }
const BERLIN = 'Europe/Berlin'
export const at = (wall: string) => ({ wall, zone: BERLIN })
export const ADA = { name: 'Ada', address: 'ada@example.com', type: 'required' } as const
export const BEN = { name: null, address: 'ben@example.com', type: 'optional' } as const

export const INPUT: EventInput = {
  start: at('20261201T090000'),
  end: at('20261201T100000'),
  subject: 'Talk',
  location: null,
  body: null,
  attendees: [],
  recurrence: null,
  showAs: 'busy',
  sensitivity: 'normal',
  onlineMeeting: false,
  onlineMeetingUrl: null,
}
export const series = (rule: string, taken: readonly string[] = []) => ({ rule, dates: [], taken })
export const creation = () => ({ creationId: newId(), mayExist: false })

/** The calendars of a mailbox of the sandbox's Graph, and their writer. */
export async function openWriting(
  server: GraphServer,
  cloud: 'global' | 'gcc-high' | 'dod' | 'china' = 'global',
) {
  const arranged = arrangeCalendars(server, cloud)
  const { email, mailbox } = arranged
  const { calendars } = server.connect(email)
  const writer = calendars.writer!
  const options = {
    self: { name: 'Eva', address: email },
    own: new Set([email]),
    notify: true,
    concernsOthers: true,
    window: WINDOW,
  }
  const { calendarKey } = arranged
  const itemIn = ({ items, place }: WrittenEvents): RemoteItem => {
    const object = items.find(one => one.object.key === place.key)?.object
    if (object?.type !== 'item') throw new Error('The item was not written')
    return object
  }
  const create = async (fields: Partial<EventInput> = {}, given = creation()) =>
    itemIn(await writer.createEvent({ calendarKey, fields: { ...INPUT, ...fields }, ...given }, options))
  const change = async (
    key: string,
    changes: EventChange,
    part: ChangedPart = { type: 'all', timesOf: null },
  ) => writer.changeEvent({ place: { calendarKey, key }, part, change: changes }, options)
  const changed = async (key: string, changes: EventChange) => itemIn(await change(key, changes))
  const there = () => [...mailbox.calendars.main.events.values()]
  return { ...arranged, calendars, writer, options, itemIn, create, change, changed, there }
}

export const membersOf = ({ occurrences }: RemoteItem) => occurrences?.map(({ member }) => member.slice(0, 8))
export const failing = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof ProviderFailure ? error.kind : error),
  )
