import { expand } from '../../../kit/recurrence/expand.ts'
import { toMember } from '../../../kit/recurrence/member.ts'
import { DAY_MS, isDay, printWall, requireWall, WALL_TIME_END } from '../../../kit/wall-clock.ts'
import type { EventTime, RemoteException, RemoteOccurrence } from '../../calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { isOfPart } from '../../http/ask-twice.ts'
import { BATCH_PARTS_MAX, type GraphRequest } from '../api.ts'
import { askTwice } from '../ask-twice.ts'
import { type GraphItem, itemsSchema } from '../items.ts'
import { PROBE } from './calendar-list.ts'
import { fieldsOf, type GraphEvent, namedZoneOf, readGraphEvent, zoneOfEvent } from './event.ts'
import { type GivenTime, instantOf, timeSchema, toEventTime, toEventTimes } from './event-times.ts'
import { PAGE_BYTES_MAX, pathOfEvent, viewQuery } from './pages.ts'
import { type ReadingPlace, requestOfEvent } from './place.ts'
import { ruleOf } from './recurrence.ts'

const INSTANCE_FIELDS = 'id,type,originalStart,start,end,isAllDay'
const INSTANCES_PER_PAGE = 500
/** Pages of the occurrences of one series. */
const PAGES_MAX = 50

/** The members of a series in the window, as Graph has expanded them. */
export interface GivenMembers {
  exceptions: RemoteException[]
  occurrences: RemoteOccurrence[]
  /** The members of the rule in the window that Graph does not have. */
  takenOf(rule: string, start: EventTime): string[]
}

interface Instance {
  occurrence: RemoteOccurrence
  isException: boolean
}

/** The reason for which a series cannot be read: Graph fails for one of its members. */
export interface FailedMembers {
  reason: string
}

/**
 * Reads the members of series, which one request answers for each, and each exception by its id. A series that is gone has
 * none. Where Graph fails for one exception, the whole series fails: without it, the index would lose what the exception
 * changes.
 */
export async function readMembers(
  place: ReadingPlace,
  series: readonly GraphEvent[],
): Promise<Map<string, GivenMembers | FailedMembers>> {
  const found = new Map<string, Instance[] | FailedMembers>()
  for (let at = 0; at < series.length; at += BATCH_PARTS_MAX)
    for (const [key, instances] of await readInstances(place, series.slice(at, at + BATCH_PARTS_MAX)))
      found.set(key, instances)
  const { events, failed } = await readExceptions(
    place,
    [...found.values()].flatMap(instances =>
      Array.isArray(instances) ? instances.filter(one => one.isException) : [],
    ),
  )
  return new Map(
    [...found].map(([key, instances]): [string, GivenMembers | FailedMembers] => {
      if (!Array.isArray(instances)) return [key, instances]
      const reason = instances.flatMap(({ occurrence }) => failed.get(occurrence.key) ?? [])[0]
      if (reason !== undefined) return [key, { reason }]
      const given = {
        occurrences: instances.map(({ occurrence }) => occurrence),
        exceptions: instances.flatMap(({ occurrence: { key: own, member } }) => {
          const event = events.get(own)
          return event ? [{ key: own, member, event }] : []
        }),
        takenOf: (rule: string, start: EventTime) =>
          takenOf(place, rule, start, new Set(instances.map(({ occurrence }) => occurrence.member))),
      }
      return [key, given]
    }),
  )
}

async function readInstances(
  place: ReadingPlace,
  series: readonly GraphEvent[],
): Promise<Map<string, Instance[] | FailedMembers>> {
  const { connection, calendarKey, window, options } = place
  const { api } = connection
  const requests = series.map(({ id }): GraphRequest<typeof itemsSchema._output> => ({
    path: `${pathOfEvent(calendarKey, id)}/instances`,
    query: { ...viewQuery(window), $select: INSTANCE_FIELDS, $top: INSTANCES_PER_PAGE },
    schema: itemsSchema,
    accepts: [200],
    answerBytesMax: PAGE_BYTES_MAX,
  }))
  const outcomes = await askTwice(api, requests, options, PROBE)
  const found = new Map<string, Instance[] | FailedMembers>()
  for (const [index, { value, failure }] of outcomes.entries()) {
    const master = series[index]!
    if (failure?.kind === 'not_found') continue
    if (failure && !isOfPart(failure)) throw failure
    if (failure) {
      found.set(master.id, { reason: failure.message })
      continue
    }
    const items = [...value.value]
    let link = value['@odata.nextLink']
    for (let pages = 1; link !== undefined && pages < PAGES_MAX; pages += 1) {
      const page = await api.follow(link, itemsSchema, { ...options, answerBytesMax: PAGE_BYTES_MAX })
      items.push(...page.value)
      link = page['@odata.nextLink']
    }
    found.set(master.id, toInstances(place, items, master))
  }
  return found
}

/** Where one instance cannot be read, the whole series fails: its member would count as deleted. */
function toInstances(
  place: ReadingPlace,
  items: readonly GraphItem[],
  master: GraphEvent,
): Instance[] | FailedMembers {
  const failed: FailedMembers = {
    reason: 'Microsoft Graph gave a series an occurrence whose times cannot be read',
  }
  try {
    const instances = items.map(item => toInstance(place, item, master))
    if (!instances.every(one => one !== null)) return failed
    return namedZoneOf(master) === null ? inOwnDays(place, instances, master) : instances
  } catch (error) {
    if (error instanceof RangeError) return failed
    throw error
  }
}

/** The occurrence that a member of a series is, as far as it begins in these days; null if there is none. */
export async function findMember(
  place: ReadingPlace,
  master: GraphEvent,
  member: string,
): Promise<RemoteOccurrence | null> {
  const around = { isAllDay: master.isAllDay === true, zone: zoneOfEvent(master, place) }
  const start = toEventTime(master.start, around)
  const at = instantOf({ wall: member, zone: start?.zone ?? null })
  const window = { start: new Date(at - 2 * DAY_MS), end: new Date(at + 2 * DAY_MS) }
  const found = (await readInstances({ ...place, window }, [master])).get(master.id)
  if (found && !Array.isArray(found)) throw new ProviderFailure('unavailable', `${found.reason}.`)
  return found?.find(({ occurrence }) => occurrence.member === member)?.occurrence ?? null
}

/** A custom zone and the zone in which its series is taken change their clocks at most so far apart. */
const CLOCKS_MS_MAX = 3 * 3_600_000

/**
 * Instances of a series of a custom zone, each with the name of the member of the rule that is nearest to it: the clocks of the
 * two zones may change on different days.
 */
function inOwnDays(place: ReadingPlace, instances: readonly Instance[], master: GraphEvent): Instance[] {
  const start = toEventTime(master.start, {
    isAllDay: master.isAllDay === true,
    zone: zoneOfEvent(master, place),
  })
  const rule = start && master.recurrence ? ruleOf(master.recurrence, start) : null
  if (!start || rule === null || isDay(start.wall)) return [...instances]
  const walls = membersIn(place, rule, start).map(wall => ({ wall, time: requireWall(wall) }))
  return instances.map(instance => {
    const time = requireWall(instance.occurrence.member)
    const near = walls.find(one => Math.abs(one.time - time) <= CLOCKS_MS_MAX)
    return near ? { ...instance, occurrence: { ...instance.occurrence, member: near.wall } } : instance
  })
}

/** Null for an instance whose times cannot be read. Only an exception may begin elsewhere than its rule has it. */
function toInstance(place: ReadingPlace, item: GraphItem, master: GraphEvent): Instance | null {
  const zone = zoneOfEvent(master, place)
  const start = timeSchema.safeParse(item['start']).data
  const end = timeSchema.safeParse(item['end']).data
  const isAllDay = item['isAllDay'] === true
  const times = start && toEventTimes({ start, end }, { isAllDay, zone, endZone: zone })
  const isException = String(item['type']).toLowerCase() === 'exception'
  const original = typeof item['originalStart'] === 'string' ? { dateTime: item['originalStart'] } : null
  if (!times || (isException && original === null)) return null
  const member = memberAt(place, original ?? start, master)
  return member === null ? null : { occurrence: { key: item.id, member, ...times }, isException }
}

/** The wall clock in the zone of the series at which its rule has a member. */
function memberAt(place: ReadingPlace, time: GivenTime, master: GraphEvent): string | null {
  const around = { isAllDay: master.isAllDay === true, zone: zoneOfEvent(master, place) }
  const start = toEventTime(master.start, around)
  const original = toEventTime(time, around)
  if (!start || !original) return null
  if (original.zone === null) return original.wall
  return toMember(`${printWall(instantOf(original))}Z`, [], start)
}

/**
 * The exceptions by their keys, and the reasons for which Graph did not answer others. An exception of a form that cannot be
 * read shows what its series has.
 */
async function readExceptions(
  place: ReadingPlace,
  exceptions: readonly Instance[],
): Promise<{ events: Map<string, RemoteException['event']>; failed: Map<string, string> }> {
  const { connection, calendarKey, options } = place
  const events = new Map<string, RemoteException['event']>()
  const failed = new Map<string, string>()
  for (let at = 0; at < exceptions.length; at += BATCH_PARTS_MAX) {
    const asked = exceptions.slice(at, at + BATCH_PARTS_MAX)
    const requests = asked.map(({ occurrence }) => requestOfEvent(calendarKey, occurrence.key))
    const outcomes = await askTwice(connection.api, requests, options, PROBE)
    for (const [index, { value, failure }] of outcomes.entries()) {
      if (failure?.kind === 'not_found') continue
      if (failure && !isOfPart(failure)) throw failure
      if (failure) {
        failed.set(asked[index]!.occurrence.key, failure.message)
        continue
      }
      const fields = readFields(place, value)
      if (fields) events.set(value.id, fields)
    }
  }
  return { events, failed }
}

/** The fields of an exception; null if it has a form that cannot be read. */
function readFields(place: ReadingPlace, item: GraphItem): RemoteException['event'] | null {
  const event = readGraphEvent(item)
  try {
    return typeof event === 'string' ? null : fieldsOf(event, place)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Members that begin in the window, and that Graph does not list: they were deleted. */
function takenOf(place: ReadingPlace, rule: string, start: EventTime, there: ReadonlySet<string>): string[] {
  const { window } = place
  return membersIn(place, rule, start).filter(wall => {
    const at = instantOf({ wall, zone: start.zone })
    return at >= window.start.getTime() && at < window.end.getTime() && !there.has(wall)
  })
}

/** The members that a rule has in the window, and a day around it. */
function membersIn({ window }: ReadingPlace, rule: string, start: EventTime): string[] {
  const wallAt = (at: number) => printWall(Math.min(Math.max(at, 0), WALL_TIME_END - 1000))
  const { members } = expand({
    lines: [rule],
    start,
    from: wallAt(window.start.getTime() - DAY_MS),
    to: wallAt(window.end.getTime() + DAY_MS),
  })
  return members.map(({ wall }) => wall)
}
