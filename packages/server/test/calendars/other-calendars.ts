import { expect } from 'vitest'
import type { Random } from '../seeded.ts'
import type { DavTestClient } from '../servers/dav-client.ts'
import { calendarFile, eventText } from '../servers/event-text.ts'
import { dayAhead } from './caldav-account.ts'

/** Events of series are daily, so that their days are easily counted. */
interface HeldEvent {
  uid: string
  subject: string
  day: number
  /** Null: a single. */
  count: number | null
  /** Days of a series, counted from its first, with the subjects of exceptions; null: taken from the series. */
  members: Map<number, string | null>
}

const startOf = (day: number) => `${dayAhead(day)}T090000Z`

/** Another client of CalDAV, which changes the events of some calendars at random, and knows what they should hold. */
export class OtherCalendars {
  readonly #client: DavTestClient
  readonly #calendars: readonly string[]
  readonly #random: Random
  readonly #events = new Map<string, HeldEvent>()
  readonly log: string[] = []
  #made = 0

  constructor(client: DavTestClient, calendars: readonly string[], random: Random) {
    this.#client = client
    this.#calendars = calendars
    this.#random = random
  }

  async act(): Promise<void> {
    const random = this.#random
    const choice = random.next()
    const paths = [...this.#events.keys()]
    if (paths.length < 4 || choice < 0.25) return this.#add()
    const path = random.pick(paths)
    const event = this.#events.get(path)!
    if (choice < 0.4) return this.#remove(path)
    if (choice < 0.55) return this.#move(path)
    if (choice < 0.8 && event.count !== null) {
      const nth = random.between(0, event.count - 1)
      event.members.set(nth, random.chance(0.5) ? this.#name('Moved') : null)
    } else event.subject = this.#name('Renamed')
    await this.#put(path, event)
  }

  /** The starts and subjects that a list of the events should show. */
  lines(): string[] {
    const lines = [...this.#events.values()].flatMap(({ subject, day, count, members }) =>
      Array.from({ length: count ?? 1 }, (_, nth) => {
        const shown = members.has(nth) ? members.get(nth)! : subject
        return shown === null ? [] : [`${startOf(day + nth)} ${shown}`]
      }).flat(),
    )
    return lines.toSorted()
  }

  #name(word: string): string {
    return `${word} ${++this.#made}`
  }

  async #add(): Promise<void> {
    const uid = `event-${++this.#made}`
    const day = this.#random.between(1, 60)
    const count = this.#random.chance(0.5) ? this.#random.between(2, 6) : null
    const path = `${this.#random.pick(this.#calendars)}${uid}.ics`
    await this.#put(path, { uid, subject: this.#name('Added'), day, count, members: new Map() })
  }

  async #put(path: string, event: HeldEvent): Promise<void> {
    this.log.push(`put ${path} ${event.subject}`)
    await this.#client.put(path, fileOf(event))
    this.#events.set(path, event)
  }

  async #remove(path: string): Promise<void> {
    this.log.push(`remove ${path}`)
    await this.#client.remove(path)
    this.#events.delete(path)
  }

  async #move(path: string): Promise<void> {
    const event = this.#events.get(path)!
    const to = `${this.#calendars.find(calendar => !path.startsWith(calendar))!}${event.uid}.ics`
    this.log.push(`move ${path} ${to}`)
    await this.#client.move(path, to)
    this.#events.delete(path)
    this.#events.set(to, event)
  }
}

function fileOf({ uid, subject, day, count, members }: HeldEvent): string {
  const taken = [...members].filter(([, member]) => member === null).map(([nth]) => startOf(day + nth))
  const rule = count === null ? [] : [`RRULE:FREQ=DAILY;COUNT=${count}`]
  const dates = taken.length === 0 ? [] : [`EXDATE:${taken.join(',')}`]
  const timesOf = (start: string) => [`DTSTART:${start}`, 'DURATION:PT30M']
  const exceptions = [...members].flatMap(([nth, member]) => {
    const start = startOf(day + nth)
    return member === null
      ? []
      : [eventText(uid, [`RECURRENCE-ID:${start}`, ...timesOf(start), `SUMMARY:${member}`])]
  })
  const master = eventText(uid, [...timesOf(startOf(day)), `SUMMARY:${subject}`, ...rule, ...dates])
  return calendarFile([master, ...exceptions])
}

interface AnnouncedEvent {
  type: string
  event?: { id: string; kind: string; iCalUid: string | null }
}

/**
 * Checks that each event is announced as created before anything else and as deleted at most once, and that what is left
 * has the id under which its UID was announced first.
 * @param movesAtOnce whether no file is in two calendars while it is moved
 */
export function expectLastingIds(feed: readonly AnnouncedEvent[], movesAtOnce: boolean): void {
  const firstIds = new Map<string | null, string>()
  const left = new Map<string, string | null>()
  for (const { type, event } of feed) {
    if (!event) continue
    const { id, kind, iCalUid } = event
    expect({ type, isKnown: left.has(id) }).toEqual({ type, isKnown: type !== 'calendar_event.created' })
    if (type === 'calendar_event.deleted') left.delete(id)
    else if (kind !== 'exception') left.set(id, iCalUid)
    else left.set(id, null)
    if (kind !== 'exception' && !firstIds.has(iCalUid)) firstIds.set(iCalUid, id)
  }
  for (const [id, uid] of left) if (movesAtOnce && uid !== null) expect(id).toBe(firstIds.get(uid))
}
