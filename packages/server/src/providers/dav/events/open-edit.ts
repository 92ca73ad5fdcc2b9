import { lineOf } from './event-file.ts'
import type { EventTime, RemoteEvent } from '../../calendars.ts'
import { calendarOf, type EditContext, type Editing, openContext } from './edit-context.ts'
import { setTime } from './edit-times.ts'
import { takenBy } from './edit-recurrence.ts'
import { openEvents, UnreadableEvents } from './event-file.ts'
import type { LineSource } from '../../../kit/content-lines/rewrite-file.ts'
import { componentsOf, type EventNode, type EventTree, openTree, sourcesOf, viewOf } from './event-tree.ts'
import { readEvent, readUid } from './read-event.ts'
import { keepZones, latestOf, memberOf, type ResolveZone } from './read-events.ts'

/** A component that stands for one member of a series. */
export interface Override {
  node: EventNode
  member: string
  /** Null if it cannot be read. */
  event: RemoteEvent | null
}

/** The event of a file, taken apart to be changed. */
export interface OpenEvent {
  tree: EventTree
  calendar: EventNode
  context: EditContext
  /** Null if the file has only exceptions of a series. */
  master: { node: EventNode; event: RemoteEvent } | null
  overrides: Override[]
  /** The lines of each component as they were. */
  sources: ReadonlyMap<EventNode, readonly LineSource[]>
}

/** Opens the event that `readEvents` reads of a file. @throws UnreadableEvents if there is none */
export function openEvent(bytes: Buffer, resolveZone: ResolveZone, editing: Editing): OpenEvent {
  const { zones } = openEvents(bytes)
  const zoneOf = keepZones(tzid => resolveZone(tzid, zones.get(tzid) ?? null))
  const tree = openTree(bytes)
  const calendar = calendarOf(tree)
  const context = openContext(calendar, zoneOf, editing)
  const all = componentsOf(calendar, 'VEVENT').map(node => ({ node, view: viewOf(node) }))
  const first = all.find(({ view }) => !lineOf(view, 'RECURRENCE-ID')) ?? all[0]
  if (!first) throw new UnreadableEvents('The file has no event')
  const events = all.filter(({ view }) => readUid(view) === readUid(first.view))
  const masters = events.filter(({ view }) => !lineOf(view, 'RECURRENCE-ID') && readEvent(view, zoneOf))
  const latest = latestOf(masters.map(({ view }) => view))
  const found = masters.find(({ view }) => view === latest)
  const master = found ? { node: found.node, event: readEvent(found.view, zoneOf)! } : null
  const overrides = events.flatMap(({ node, view }) => {
    const line = lineOf(view, 'RECURRENCE-ID')
    const event = line ? readEvent(view, zoneOf) : null
    const start = master?.event.start ?? event?.start
    const member = line && start ? memberOf(line, start, zoneOf) : null
    return member === null ? [] : [{ node, member, event }]
  })
  const sources = new Map(all.map(({ node }) => [node, sourcesOf(node.items)]))
  return { tree, calendar, context, master, overrides, sources }
}

/** Whether any line of a component is not as it was. */
export function hasChanged({ sources }: OpenEvent, node: EventNode): boolean {
  const [before, after] = [sources.get(node), sourcesOf(node.items)]
  return before?.length !== after.length || before.some((source, at) => source !== after[at])
}

/** The component that counts for a member; undefined if it is no exception. */
export function overrideOf({ overrides }: OpenEvent, member: string): Override | undefined {
  const views = new Map(
    overrides.filter(one => one.member === member && one.event).map(one => [viewOf(one.node), one]),
  )
  const latest = latestOf([...views.keys()])
  return latest ? views.get(latest) : undefined
}

export function removeOverrides(open: OpenEvent, isGone: (override: Override) => boolean): void {
  const gone = new Set<EventNode['items'][number]>(open.overrides.filter(isGone).map(({ node }) => node))
  open.overrides = open.overrides.filter(override => !isGone(override))
  open.calendar.items = open.calendar.items.filter(item => !gone.has(item))
}

/** Names a member by another original start. */
export function renameOverride(
  override: Override,
  member: string,
  zone: string | null,
  context: EditContext,
): void {
  const time: EventTime = { wall: member, zone }
  setTime(override.node, 'RECURRENCE-ID', time, context)
  override.member = member
}

/** The members that the series of a file lacks: by EXDATEs, and by components that are cancelled. */
export function takenOf({ master, overrides, context }: OpenEvent): ReadonlySet<string> {
  const cancelled = overrides.filter(({ event }) => event?.status === 'cancelled').map(({ member }) => member)
  return new Set([...(master ? takenBy(master.node, master.event.start, context) : []), ...cancelled])
}
