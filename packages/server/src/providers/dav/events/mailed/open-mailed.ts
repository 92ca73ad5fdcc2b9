import { findIanaZone } from '../../../../kit/zones/named-zone.ts'
import { parameterOf } from '../../../../kit/content-lines/content-line.ts'
import { unescapeText } from '../../../../kit/content-lines/text-value.ts'
import { isOrganizer } from '../edit-attendees.ts'
import { componentsOf, type EventNode, propertiesOf, viewOf } from '../event-tree.ts'
import { lineOf } from '../event-file.ts'
import type { OpenEvent } from '../open-edit.ts'
import { memberOf } from '../read-events.ts'
import { UnwritableEvents } from '../unwritable.ts'
import { importNode } from './merge.ts'
import { eventsFor, isFromOrganizer, organizerOf } from './mailed-event.ts'

/** A mail, and the event of a file that it is about. */
export interface Taking {
  /** The event of the file. */
  open: OpenEvent
  /** The event that came by mail. */
  mailed: OpenEvent
  /** The author of the mail, and the addresses of the account, as they are compared. */
  from: string
  own: ReadonlySet<string>
}

/** The component of a file whose organizer is that of the event. */
export function mainNode({ master, overrides }: OpenEvent): EventNode | null {
  return master?.node ?? overrides[0]?.node ?? null
}

/** Takes events from a mail that are not for the account. */
export function keepEventsFor(open: OpenEvent, whose: Parameters<typeof eventsFor>[1]): void {
  const events = componentsOf(open.calendar, 'VEVENT')
  const kept = new Set<EventNode>(eventsFor(events, whose))
  const gone = new Set<EventNode['items'][number]>(events.filter(event => !kept.has(event)))
  if (gone.size === 0) return
  open.calendar.items = open.calendar.items.filter(item => !gone.has(item))
  open.overrides = open.overrides.filter(({ node }) => kept.has(node))
  if (open.master && !kept.has(open.master.node)) open.master = null
}

/** The components of a mail, which may lack a start. */
export function mailedNodes({ mailed }: Taking): EventNode[] {
  return componentsOf(mailed.calendar, 'VEVENT')
}

/** Whether the file has an event of another one, who has sent the mail: the organizer in the file counts. */
export function isOrganizers({ open, mailed, from, own }: Taking): boolean {
  const main = mainNode(open)
  const sent = mainNode(mailed) ?? componentsOf(mailed.calendar, 'VEVENT')[0]
  return (
    main !== null &&
    sent !== undefined &&
    !isOrganizer(main, { self: { name: null, address: '' }, own }) &&
    organizerOf(main) === organizerOf(sent) &&
    isFromOrganizer(main, from)
  )
}

/** The member of the file's series that a component of a mail names; null if it names none, undefined if it is about all. */
export function memberNamed({ open, mailed }: Taking, node: EventNode): string | null | undefined {
  const view = viewOf(node)
  const line = lineOf(view, 'RECURRENCE-ID')
  if (!line) return undefined
  const start = open.master?.event.start ?? open.overrides.find(({ event }) => event !== null)?.event?.start
  return start ? memberOf(line, start, mailed.context.zoneOf) : null
}

/**
 * Adds the definitions of time zones that the mail has and the file lacks.
 * @throws UnwritableEvents if both define different zones under one name
 */
export function addZones({ open, mailed }: Taking): void {
  const defined = definitionsOf(open)
  const used = new Set(
    componentsOf(open.calendar, 'VEVENT').flatMap(event =>
      event.items.flatMap(item =>
        item.type === 'property' && item.content ? (parameterOf(item.content, 'TZID')?.trim() ?? []) : [],
      ),
    ),
  )
  for (const [tzid, definition] of definitionsOf(mailed)) {
    if (!used.has(tzid)) continue
    if (!defined.has(tzid)) {
      const first = open.calendar.items.findIndex(item => item.type === 'component' && item.name === 'VEVENT')
      open.calendar.items.splice(first, 0, importNode(definition))
    } else if (findIanaZone(tzid) === null && open.context.zoneOf(tzid) !== mailed.context.zoneOf(tzid))
      throw new UnwritableEvents('The mail has another time zone of the same name')
  }
}

function definitionsOf({ calendar }: OpenEvent): Map<string, EventNode> {
  return new Map(
    componentsOf(calendar, 'VTIMEZONE').flatMap(zone =>
      propertiesOf(zone, 'TZID').map(({ content }) => [unescapeText(content.value).trim(), zone] as const),
    ),
  )
}
