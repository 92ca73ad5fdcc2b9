import type {
  CalendarsProvider,
  CalendarWindow,
  EventsStep,
  RemoteCalendar,
  RemoteItem,
  RemoteObject,
} from '../calendars.ts'
import type { Cursor } from '../mail.ts'

/** Applies the steps of one calendar like the follower's index, in memory: enough to check whether they are right. */
export interface EventIndex {
  readonly calendar: RemoteCalendar
  readonly window: CalendarWindow
  readonly objects: Map<string, RemoteObject>
  /** Versions of unreadable items by key. */
  readonly unreadable: Map<string, string | null>
  cursor: Cursor | null
  /** How often the versions of the whole calendar were asked for. */
  comparisons: number
  /** @returns whether it reached the end; it stops after `stepsMax` steps */
  follow(provider: CalendarsProvider, stepsMax?: number): Promise<boolean>
  /** The steps since the last call. */
  takeSteps(): EventsStep[]
  items(): RemoteItem[]
  /** The subjects of all singles and series, in their order. */
  subjects(): Array<string | null>
  /** The members of a series that differ from its rule: their subjects, or null if they were taken. */
  members(key: string): Record<string, string | null>
  versions(): Map<string, string>
}

export function openEventIndex(
  calendar: RemoteCalendar,
  window: CalendarWindow,
  signal: AbortSignal = new AbortController().signal,
): EventIndex {
  const steps: EventsStep[] = []
  const apply = (step: EventsStep) => {
    steps.push(step)
    if (step.type === 'items') {
      for (const item of step.items) {
        index.objects.set(item.key, item)
        index.unreadable.delete(item.key)
      }
      for (const { key, version } of step.unreadable) index.unreadable.set(key, version)
    } else if (step.type === 'gone') {
      for (const key of step.keys) for (const held of [index.objects, index.unreadable]) held.delete(key)
    }
    // A cursor is stored as JSON.
    if (step.cursor !== undefined) index.cursor = JSON.parse(JSON.stringify(step.cursor))
  }
  const index: EventIndex = {
    calendar,
    window,
    objects: new Map(),
    unreadable: new Map(),
    cursor: null,
    comparisons: 0,
    async follow(provider, stepsMax = Number.POSITIVE_INFINITY) {
      let count = 0
      const known = async () => {
        index.comparisons += 1
        return index.versions()
      }
      for await (const step of provider.follow({ calendar, window, cursor: index.cursor, known, signal })) {
        apply(step)
        if (step.type === 'end') return true
        if (++count >= stepsMax) return false
      }
      throw new Error('following ended without an end')
    },
    takeSteps: () => steps.splice(0),
    items: () => [...index.objects.values()].filter(object => object.type === 'item'),
    subjects: () =>
      index
        .items()
        .map(({ event }) => event?.subject ?? null)
        .toSorted(),
    members: key => Object.fromEntries(membersOf(index, key).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    versions: () =>
      new Map([
        ...[...index.objects.values()].map(({ key, version }) => [key, version] as const),
        ...[...index.unreadable].flatMap(([key, version]) =>
          version === null ? [] : [[key, version] as const],
        ),
      ]),
  }
  return index
}

function membersOf({ objects }: EventIndex, key: string): Array<[string, string | null]> {
  const series = objects.get(key)
  const excluded = series?.type === 'item' ? (series.excluded ?? []) : []
  if (series?.type === 'item' && series.members) {
    const { exceptions, taken } = series.members
    return [
      ...exceptions.map(({ member, event }) => [member, event.subject] as [string, string | null]),
      ...taken.map(member => [member, null] as [string, null]),
    ]
  }
  const reported = [...objects.values()].flatMap(object =>
    object.type === 'member' && object.seriesKey === key
      ? [[object.member, object.event?.subject ?? null] as [string, string | null]]
      : [],
  )
  return [...excluded.map(member => [member, null] as [string, null]), ...reported]
}
