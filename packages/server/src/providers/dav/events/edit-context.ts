import { parameterOf } from '../../../kit/content-lines/content-line.ts'
import { printTzid } from '../../../kit/recurrence/recurrence-lines.ts'
import { DAY_MS, isDay } from '../../../kit/wall-clock.ts'
import { printDefinition } from '../../../kit/zones/print-definition.ts'
import { presentZone, toInstant } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../calendars.ts'
import {
  componentsOf,
  type EventNode,
  type EventTree,
  type Property,
  propertiesOf,
  propertyOf,
} from './event-tree.ts'
import { unescapeText } from '../../../kit/content-lines/text-value.ts'
import type { ZoneOf } from './event-times.ts'
import { UnwritableEvents } from './unwritable.ts'

/** The time zones of a file that is changed, and the time of the change. */
export interface EditContext {
  /** The zone of a TZID. */
  zoneOf: ZoneOf
  now: Date
  /** All addresses of the account that writes. */
  own: ReadonlySet<string>
  /** Components that are changed, and whether each is a new revision. */
  readonly stamps: Map<EventNode, boolean>
  /** A TZID of the file for a zone; its IANA name if the file has none. */
  tzidOf(zone: string): string
  /** Zones for which the file may lack a definition, each with a time in it. */
  readonly used: Map<string, EventTime>
}

/** By whom and when a file is changed. */
export type Editing = Pick<EditContext, 'own' | 'now'>

export function openContext(calendar: EventNode, zoneOf: ZoneOf, { own, now }: Editing): EditContext {
  const used = new Map<string, EventTime>()
  const tzids = new Map<string, string>()
  for (const event of componentsOf(calendar, 'VEVENT'))
    for (const { content } of propertiesOf(event, 'DTSTART', 'DTEND', 'RECURRENCE-ID', 'EXDATE', 'RDATE')) {
      const tzid = parameterOf(content, 'TZID')?.trim()
      const zone = tzid ? zoneOf(tzid) : null
      if (tzid && zone !== null && !tzids.has(zone)) tzids.set(zone, tzid)
    }
  return {
    zoneOf,
    now,
    own,
    stamps: new Map(),
    used,
    tzidOf(zone) {
      const known = tzids.get(zone)
      if (known !== undefined) return known
      if (presentZone(zone) === null) throw new UnwritableEvents('The zone has no name')
      return zone
    },
  }
}

/** The value and the parameters of a time, as a text that follows the name of its property. */
export function printTime(time: EventTime, context: EditContext): string {
  const { wall, zone } = time
  if (isDay(wall)) return `;VALUE=DATE:${wall}`
  if (zone === null) return `:${wall}`
  if (zone === 'UTC') return `:${wall}Z`
  const tzid = context.tzidOf(zone)
  if (!context.used.has(tzid)) context.used.set(tzid, time)
  return `;${printTzid(tzid)}:${wall}`
}

const ZONE_YEARS = 5

/** Adds the definitions that the file lacks of zones that a change has brought. */
export function addDefinitions(calendar: EventNode, { used }: EditContext): void {
  const defined = new Set(
    componentsOf(calendar, 'VTIMEZONE').flatMap(zone =>
      propertiesOf(zone, 'TZID').map(({ content }) => unescapeText(content.value).trim()),
    ),
  )
  const first = calendar.items.findIndex(item => item.type === 'component' && item.name === 'VEVENT')
  const added = [...used].flatMap(([tzid, { wall, zone }]) => {
    if (defined.has(tzid) || zone === null || presentZone(zone) === null) return []
    const from = toInstant(wall, zone)
    const to = from + ZONE_YEARS * 366 * DAY_MS
    const lines = printDefinition(zone, { from: new Date(from - 366 * DAY_MS), to: new Date(to) })
    return [nodeOfLines(lines.map(line => (line === `TZID:${zone}` ? `TZID:${tzid}` : line)))]
  })
  calendar.items.splice(first === -1 ? calendar.items.length : first, 0, ...added)
}

/** A component of new lines, the first of which is its BEGIN and the last one its END. */
export function nodeOfLines(lines: readonly string[]): EventNode {
  const open: EventNode[] = []
  let root: EventNode | null = null
  for (const text of lines) {
    const property: Property = propertyOf(text)
    const { name, value } = property.content!
    if (name === 'BEGIN') {
      const node: EventNode = { type: 'component', name: value, begin: property.source, end: null, items: [] }
      open.at(-1)?.items.push(node)
      open.push(node)
      root ??= node
    } else if (name === 'END') open.pop()!.end = property.source
    else open.at(-1)!.items.push(property)
  }
  return root!
}

/** The calendar of a file that has its events. */
export function calendarOf({ items }: EventTree): EventNode {
  const calendars = componentsOf({ items }, 'VCALENDAR')
  return calendars.find(one => componentsOf(one, 'VEVENT').length > 0) ?? calendars[0]!
}
