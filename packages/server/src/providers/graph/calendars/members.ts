import { expand } from '../../../kit/recurrence/expand.ts'
import { toMember } from '../../../kit/recurrence/member.ts'
import { DAY_MS, printWall, WALL_TIME_END } from '../../../kit/wall-clock.ts'
import type { EventTime, RemoteException, RemoteOccurrence } from '../../calendars.ts'
import { isOfPart } from '../../http/ask-twice.ts'
import { BATCH_PARTS_MAX, type GraphRequest } from '../api.ts'
import { askTwice } from '../ask-twice.ts'
import { type GraphItem, itemsSchema } from '../items.ts'
import { PROBE } from './calendar-list.ts'
import { fieldsOf, type GraphEvent, readGraphEvent, zoneOfEvent } from './event.ts'
import { type GivenTime, instantOf, timeSchema, toEventTime, toEventTimes } from './event-times.ts'
import { PAGE_BYTES_MAX, pathOfEvent, viewQuery } from './pages.ts'
import { type ReadingPlace, requestOfEvent } from './place.ts'

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
  { connection, calendarKey, window, options }: ReadingPlace,
  series: readonly GraphEvent[],
): Promise<Map<string, Instance[] | FailedMembers>> {
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
    found.set(
      master.id,
      items.flatMap(item => toInstance(item, master) ?? []),
    )
  }
  return found
}

/** Null for an instance whose times cannot be read. Only an exception may begin elsewhere than its rule has it. */
function toInstance(item: GraphItem, master: GraphEvent): Instance | null {
  const zone = zoneOfEvent(master)
  const start = timeSchema.safeParse(item['start']).data
  const end = timeSchema.safeParse(item['end']).data
  const isAllDay = item['isAllDay'] === true
  const times = start && toEventTimes({ start, end }, { isAllDay, zone, endZone: zone })
  const isException = String(item['type']).toLowerCase() === 'exception'
  const original = typeof item['originalStart'] === 'string' ? { dateTime: item['originalStart'] } : null
  if (!times || (isException && original === null)) return null
  const member = memberAt(original ?? start, master)
  return member === null ? null : { occurrence: { key: item.id, member, ...times }, isException }
}

/** The wall clock in the zone of the series at which its rule has a member. */
function memberAt(time: GivenTime, master: GraphEvent): string | null {
  const around = { isAllDay: master.isAllDay === true, zone: zoneOfEvent(master) }
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
  { connection, calendarKey, isOwn, options }: ReadingPlace,
  exceptions: readonly Instance[],
): Promise<{ events: Map<string, RemoteException['event']>; failed: Map<string, string> }> {
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
      const event = readGraphEvent(value)
      const fields = typeof event === 'string' ? null : fieldsOf(event, isOwn)
      if (fields) events.set(value.id, fields)
    }
  }
  return { events, failed }
}

/** Members that begin in the window, and that Graph does not list: they were deleted. */
function takenOf(
  { window }: ReadingPlace,
  rule: string,
  start: EventTime,
  there: ReadonlySet<string>,
): string[] {
  const wallAt = (at: number) => printWall(Math.min(Math.max(at, 0), WALL_TIME_END - 1000))
  const { members } = expand({
    lines: [rule],
    start,
    from: wallAt(window.start.getTime() - DAY_MS),
    to: wallAt(window.end.getTime() + DAY_MS),
  })
  return members.flatMap(({ wall }) => {
    const at = instantOf({ wall, zone: start.zone })
    const isInside = at >= window.start.getTime() && at < window.end.getTime()
    return isInside && !there.has(wall) ? [wall] : []
  })
}
