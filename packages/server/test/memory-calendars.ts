import { DAY_MS, printDay } from '../src/kit/wall-clock.ts'
import type {
  CalendarsProvider,
  CalendarWindow,
  EventsStep,
  FollowCalendar,
  RemoteCalendar,
  RemoteEvent,
  RemoteItem,
  RemoteMember,
  RemoteObject,
  UnreadableItem,
} from '../src/providers/calendars.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import { memoryWriter } from './memory-calendars-writer.ts'
import { ChangeLog, type Held } from './memory-following.ts'

/**
 * `files`: a series is one item with all its members, and keeps its uid when it moves to another calendar, under another
 * key (CalDAV). `members`: members are told one by one, under keys and versions of their own, and keys last (Google).
 */
export type CalendarsKind = 'files' | 'members'

export interface HeldMember extends Held {
  member: string
  /** Null: taken from the series. */
  event: RemoteEvent | null
}

export interface HeldItem extends Held {
  calendarKey: string
  uid: string | null
  /** Null: a series that lacks here, of which only members are known. */
  event: RemoteEvent | null
  recurrence: readonly string[] | null
  /** By the wall clocks of their original starts. */
  members: Map<string, HeldMember>
  isUnreadable: boolean
}

type Made = Pick<HeldItem, 'event' | 'recurrence'>

/** The day after the tests began, so that it is within the window. */
const TOMORROW = printDay(Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS)

/** A single of one hour without anything else. */
export const PLAIN_EVENT: RemoteEvent = {
  start: { wall: `${TOMORROW}T090000`, zone: 'Europe/Berlin' },
  end: { wall: `${TOMORROW}T100000`, zone: 'Europe/Berlin' },
  subject: null,
  location: null,
  body: null,
  organizer: null,
  attendees: [],
  self: null,
  status: 'confirmed',
  showAs: 'busy',
  sensitivity: 'normal',
  onlineMeetingUrl: null,
  onlineMeetingProvider: null,
  iCalUid: null,
  categories: [],
  hasAttachments: false,
  reminderMinutes: null,
  webLink: null,
  updatedAt: null,
}

interface Named {
  item: HeldItem
  /** Null: the item itself is named. */
  member: HeldMember | null
  key: string
  version: string
}

/** A provider of calendars without a network. `onAwait` is called wherever it awaits. */
export class MemoryCalendars {
  readonly kind: CalendarsKind
  readonly calendars = new Map<string, RemoteCalendar>()
  readonly items = new Map<string, HeldItem>()
  /** When others are busy, by address. Null: the provider cannot be asked. */
  busy: Map<string, Array<{ start: Date; end: Date }>> | null = null
  /** Whether it lists items that ended before the window. */
  listsOld = false
  onAwait: (call?: string) => void | Promise<void> = () => undefined
  /** Calls by method, for tests of what is asked. */
  readonly calls: string[] = []
  /** Whether people are told of invitations. */
  tellsPeople = true
  /** Whether a declined event leaves its calendar. */
  removesDeclined = false
  /** Writes that are made, and whose answers do not come any more. */
  lostAnswers = 0
  /** Keys of calendars and items by the creations that made them. */
  readonly creations = new Map<string, string>()
  readonly #log = new ChangeLog()

  constructor(kind: CalendarsKind) {
    this.kind = kind
    this.createCalendar('first', { isPrimary: true })
  }

  createCalendar(name: string, given: Partial<RemoteCalendar> = {}): string {
    const n = this.#log.next()
    const key = this.kind === 'files' ? `/calendar-${n}` : `calendar-${n}`
    this.calendars.set(key, {
      key,
      name,
      description: null,
      owner: null,
      isPrimary: false,
      access: 'owner',
      color: null,
      timeZone: null,
      isHidden: false,
      ...given,
    })
    return key
  }

  updateCalendar(key: string, change: Partial<Omit<RemoteCalendar, 'key'>>): void {
    this.calendars.set(key, { ...this.calendars.get(key)!, ...change })
  }

  /** Removes a calendar with its items. */
  removeCalendar(key: string): void {
    this.calendars.delete(key)
    for (const item of this.items.values()) if (item.calendarKey === key) this.items.delete(item.key)
  }

  /** Adds a single, or a series if there is a recurrence. */
  add(calendarKey: string, event: Partial<RemoteEvent>, given: Partial<HeldItem> = {}): HeldItem {
    const n = this.#log.next()
    const iCalUid = given.uid ?? `uid-${n}`
    const item: HeldItem = {
      key: this.kind === 'files' ? `${calendarKey}/${n}.ics` : `event${n}`,
      calendarKey,
      version: '',
      recurrence: null,
      members: new Map(),
      isUnreadable: false,
      event: { ...PLAIN_EVENT, iCalUid, ...event },
      ...given,
      uid: this.kind === 'files' ? iCalUid : null,
    }
    this.items.set(item.key, item)
    this.#touch(item)
    return item
  }

  update(key: string, change: Partial<RemoteEvent>, recurrence?: readonly string[] | null): HeldItem {
    const item = this.#require(key)
    item.event = { ...(item.event ?? PLAIN_EVENT), ...change }
    if (recurrence !== undefined) item.recurrence = recurrence
    if (item.recurrence === null) for (const member of item.members.keys()) this.clearMember(key, member)
    this.#touch(item)
    return item
  }

  /** Makes a member of a series an exception, or takes it from the series if there is no event. */
  setMember(key: string, member: string, event: RemoteEvent | null): HeldMember {
    const item = this.#require(key)
    const held = { key: `${key}_${member}`, version: '', member, event }
    item.members.set(member, held)
    if (this.kind === 'files') this.#touch(item)
    else held.version = `v${this.#log.note(item.calendarKey, held.key)}`
    return held
  }

  /** Makes a member what its series gives it. */
  clearMember(key: string, member: string): void {
    const item = this.#require(key)
    const held = item.members.get(member)
    if (!held) return
    item.members.delete(member)
    if (this.kind === 'files') this.#touch(item)
    else this.#log.note(item.calendarKey, held.key)
  }

  setUnreadable(key: string, isUnreadable: boolean): void {
    const item = this.#require(key)
    item.isUnreadable = isUnreadable
    this.#touch(item)
  }

  remove(key: string): void {
    const item = this.#require(key)
    this.items.delete(key)
    this.#noteGone(item)
  }

  move(key: string, calendarKey: string): HeldItem {
    const item = this.#require(key)
    if (item.calendarKey === calendarKey) return item
    this.items.delete(key)
    this.#noteGone(item)
    const moved = { ...item, calendarKey }
    if (this.kind === 'files') moved.key = `${calendarKey}/${this.#log.next()}.ics`
    this.items.set(moved.key, moved)
    this.#touch(moved)
    if (this.kind === 'members')
      for (const held of moved.members.values()) held.version = `v${this.#log.note(calendarKey, held.key)}`
    return moved
  }

  /** Adds the item of a creation, under a key that is made of it. */
  addCreated(calendarKey: string, creationId: string, made: Made): HeldItem {
    const key = this.kind === 'files' ? `${calendarKey}/${creationId}.ics` : creationId.replaceAll('-', '')
    const item = this.add(calendarKey, { ...made.event, iCalUid: creationId }, { key, uid: creationId })
    this.creations.set(creationId, key)
    return made.recurrence === null ? item : this.update(key, {}, made.recurrence)
  }

  /** Copies a file to another calendar. */
  copyCreated(item: HeldItem, calendarKey: string, creationId: string): HeldItem {
    const key = `${calendarKey}/${creationId}.ics`
    const members = new Map([...item.members].map(([member, held]) => [member, { ...held }]))
    const copy = { ...item, key, calendarKey, members }
    this.items.set(key, copy)
    this.creations.set(creationId, key)
    this.#touch(copy)
    return copy
  }

  findCreated(calendarKey: string, creationId: string): HeldItem | null {
    const item = this.items.get(this.creations.get(creationId) ?? '')
    return item?.calendarKey === calendarKey ? item : null
  }

  requireItem({ calendarKey, key }: { calendarKey: string; key: string }): HeldItem {
    const item = this.#require(key)
    if (item.calendarKey !== calendarKey) throw new ProviderFailure('not_found', 'There is no such event.')
    return item
  }

  /** Objects of a calendar as they are read. */
  objectsOf(calendarKey: string, keys: readonly string[]): RemoteObject[] {
    return this.#present(keys.flatMap(key => this.#find(calendarKey, key) ?? [])).items
  }

  /** An answer, unless it is lost. */
  answer<T>(answer: T): T {
    if (this.lostAnswers === 0) return answer
    this.lostAnswers--
    throw new ProviderFailure('unavailable', 'The connection broke.')
  }

  /** Makes every cursor invalid. */
  loseCursors(): void {
    this.#log.loseCursors()
  }

  /** The provider over one connection. */
  connect(): CalendarsProvider {
    const wait = async (call: string) => {
      this.calls.push(call)
      await this.onAwait(call)
    }
    const { busy } = this
    return {
      writer: memoryWriter(this, wait),
      ...(busy && {
        findBusy: async (addresses: readonly string[]) => {
          await wait('findBusy')
          return new Map([...busy].filter(([address]) => addresses.includes(address)))
        },
      }),
      listCalendars: async () => {
        await wait('listCalendars')
        return [...this.calendars.values()].map(calendar => ({ ...calendar }))
      },
      findChanged: async calendars => {
        const isChanged = ({ calendar, cursor }: (typeof calendars)[number]) =>
          this.#log.hasNews(calendar.key, cursor)
        const changed = calendars.filter(isChanged).map(({ calendar }) => calendar.key)
        // It may be out of date when it arrives.
        await wait('findChanged')
        return new Set(changed)
      },
      follow: from => this.#follow(from, wait),
      list: async function* (this: MemoryCalendars, calendar: RemoteCalendar, window: CalendarWindow) {
        await wait('list')
        this.requireCalendar(calendar.key)
        yield this.#namedIn(calendar.key, this.listsOld ? null : window).map(({ key, version }) => ({
          key,
          version,
        }))
      }.bind(this),
      read: async ({ calendarKey, keys }) => {
        await wait('read')
        return this.#present(keys.flatMap(key => this.#find(calendarKey, key) ?? []))
      },
    }
  }

  async *#follow(
    { calendar, window, cursor, known }: FollowCalendar,
    wait: (call: string) => Promise<void>,
  ): AsyncGenerator<EventsStep, void, void> {
    await wait('follow')
    this.requireCalendar(calendar.key)
    const collection = {
      name: calendar.key,
      wait,
      list: () => ({ wanted: this.#namedIn(calendar.key, window), all: this.#namedIn(calendar.key, null) }),
      find: (key: string) => this.#find(calendar.key, key),
      present: (named: readonly Named[]) => this.#present(named),
      omitsBrief: this.kind === 'files',
    }
    for await (const step of this.#log.follow(collection, cursor, known)) {
      if (step.type !== 'page') yield step
      else {
        const { type: _, page, ...rest } = step
        yield { type: 'items', ...page, ...rest }
      }
    }
  }

  /** Items and members of a calendar that have keys. A window leaves out singles that ended before it. */
  #namedIn(calendarKey: string, window: CalendarWindow | null): Named[] {
    return [...this.items.values()].flatMap(item => {
      if (item.calendarKey !== calendarKey || (window && isOver(item, window))) return []
      const own = item.event || this.kind === 'files' ? [namedItem(item)] : []
      return this.kind === 'files' ? own : [...own, ...[...item.members.values()].map(namedMember(item))]
    })
  }

  #find(calendarKey: string, key: string): Named | null {
    return this.#namedIn(calendarKey, null).find(named => named.key === key) ?? null
  }

  #require(key: string): HeldItem {
    const item = this.items.get(key)
    if (!item) throw new ProviderFailure('not_found', 'There is no such event.')
    return item
  }

  requireCalendar(key: string): void {
    if (!this.calendars.has(key)) throw new ProviderFailure('not_found', 'There is no such calendar.')
  }

  #touch(item: HeldItem): void {
    item.version = `v${this.#log.note(item.calendarKey, item.key)}`
  }

  #noteGone(item: HeldItem): void {
    this.#log.note(item.calendarKey, item.key)
    if (this.kind === 'members')
      for (const { key } of item.members.values()) this.#log.note(item.calendarKey, key)
  }

  #present(named: readonly Named[]): { items: RemoteObject[]; unreadable: UnreadableItem[] } {
    const [broken, fine] = [named.filter(isBroken), named.filter(one => !isBroken(one))]
    return {
      items: fine.map(({ item, member }) => (member ? memberOf(item, member) : itemOf(item, this.kind))),
      unreadable: broken.map(({ key, version }) => ({ key, version, reason: 'it is broken' })),
    }
  }
}

const isBroken = ({ item, member }: Named) => item.isUnreadable && member === null
const namedItem = (item: HeldItem): Named => ({ item, member: null, key: item.key, version: item.version })
const namedMember = (item: HeldItem) => (member: HeldMember) => ({
  item,
  member,
  key: member.key,
  version: member.version,
})

function itemOf(
  { key, version, uid, event, recurrence, members }: HeldItem,
  kind: CalendarsKind,
): RemoteItem {
  const held = [...members.values()]
  return {
    type: 'item',
    key,
    version,
    uid,
    event: event && { ...event },
    recurrence: recurrence && [...recurrence],
    members:
      kind === 'members'
        ? null
        : {
            exceptions: held.flatMap(one =>
              one.event ? [{ member: one.member, key: null, event: { ...one.event } }] : [],
            ),
            taken: held.filter(one => one.event === null).map(({ member }) => member),
          },
    occurrences: null,
  }
}

function memberOf(item: HeldItem, { key, version, member, event }: HeldMember): RemoteMember {
  return { type: 'member', key, version, seriesKey: item.key, member, event: event && { ...event } }
}

/** Whether a single ended before a window. Its wall clock is taken as UTC, which is right to a day. */
function isOver({ event, recurrence, members }: HeldItem, { start }: CalendarWindow): boolean {
  if (!event || recurrence || members.size > 0) return false
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)/.exec(event.end.wall) ?? []
  return Date.parse(`${year}-${month}-${day}T23:59:59Z`) < start.getTime()
}
