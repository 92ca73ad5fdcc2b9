import type { EventsStep } from '../../calendars.ts'
import type { DeltaPage } from '../delta.ts'
import { type GraphItem, versionOf } from '../items.ts'
import { keepLate, type LateItems, splitUnfound } from '../late-items.ts'
import type { CalendarCursor } from './cursor.ts'
import { isWhole } from './event.ts'
import { seriesOf } from './pages.ts'
import { nothingRead, readByKeys, type ReadEvents, readFound } from './reading.ts'
import type { ReadingPlace } from './place.ts'

export type Steps<T> = AsyncGenerator<EventsStep, T, void>

/** Events of one step. */
const STEP_MAX = 50
/** Events of a page that are read for one step. Any of them may be a series with many members, each with a long body. */
const READ_AT_ONCE = 20

/** One pass over a calendar. */
export interface Pass extends ReadingPlace {
  /** The versions that the index held when the pass first asked for them. */
  known(): Promise<ReadonlyMap<string, string>>
  /** Series whose members were read in this pass. Changes after that are reported by a later round. */
  read: Set<string>
}

/** Parts of a page: events that can be read as they are, and keys that have to be asked for. */
interface SortedPage {
  whole: GraphItem[]
  keys: Set<string>
  series: Set<string>
  /** Keys of those that Graph reports as there, and not only by an id, as some that are gone. */
  there: Set<string>
}

function sortPage(page: Pick<DeltaPage<GraphItem>, 'items'>): SortedPage {
  const sorted: SortedPage = { whole: [], keys: new Set(), series: new Set(), there: new Set() }
  for (const item of page.items) {
    const seriesKey = seriesOf(item)
    // An occurrence comes by a few properties, which never replace those of an event.
    if (seriesKey !== null) sorted.series.add(seriesKey)
    else if (String(item['type']).toLowerCase() === 'seriesmaster') sorted.series.add(item.id)
    else if (isWhole(item)) sorted.whole.push(item)
    else sorted.keys.add(item.id)
    if (item['start'] !== undefined || item['type'] !== undefined) sorted.there.add(seriesKey ?? item.id)
  }
  return sorted
}

/**
 * Brings the events of a page of a walk of which the index has another version, and the series that it names.
 * @returns the keys of the events and the series that the page names, and the cursor with those that were not found yet
 */
export async function* bringPage(
  pass: Pass,
  page: DeltaPage<GraphItem>,
  {
    held,
    cursor,
    isStored,
  }: { held: ReadonlyMap<string, string>; cursor: CalendarCursor; isStored: boolean },
): Steps<{ named: Set<string>; cursor: CalendarCursor }> {
  const { whole, keys, series, there } = sortPage(page)
  const news = whole.filter(item => held.get(item.id) !== versionOf(item))
  const named = new Set([...whole.map(({ id }) => id), ...keys, ...series])
  yield* bringFound(pass, news)
  const unread = [...series].filter(key => !pass.read.has(key))
  const asked = [...cursor.unfound, ...keys, ...unread, ...page.removed]
  const { late } = yield* bringUnlessLate(pass, asked, { before: cursor, there })
  const after = { ...cursor, ...keepLate(cursor, late, pass.connection.api.now()) }
  if (isStored) yield { type: 'gone', keys: [], cursor: after }
  return { named, cursor: after }
}

/**
 * Brings what a page of a later round names, as it is now. Keys that are not found are gone, unless Graph has just named them.
 * @returns `isDoubtful` if some of them are not of the index, so that they may be those of occurrences
 */
export async function* bringChanges(
  pass: Pass,
  page: DeltaPage<GraphItem>,
  before: LateItems,
): Steps<{ isDoubtful: boolean; late: LateItems }> {
  const { whole, keys, series, there } = sortPage(page)
  yield* bringFound(pass, whole)
  const unread = [...series].filter(key => !pass.read.has(key))
  const asked = [...before.unfound, ...keys, ...page.removed, ...unread]
  const { isDoubtful, late } = yield* bringUnlessLate(pass, asked, { before, there })
  return { isDoubtful, late: keepLate(before, late, pass.connection.api.now()) }
}

/** Brings events by their keys, and reports those that are gone. */
export async function* bringByKeys(pass: Pass, keys: readonly string[]): Steps<void> {
  const wanted = [...new Set(keys)].filter(key => !pass.read.has(key))
  for (let at = 0; at < wanted.length; at += STEP_MAX)
    yield* stepsOf(await readThrough(pass, wanted.slice(at, at + STEP_MAX)))
}

async function* bringFound(pass: Pass, items: readonly GraphItem[]): Steps<void> {
  for (let at = 0; at < items.length; at += STEP_MAX) {
    const result = nothingRead()
    await readFound(pass, items.slice(at, at + STEP_MAX), result)
    yield* stepsOf(result)
  }
}

/** Brings events by their keys, and reports those that are gone, but for those that may still come. */
async function* bringUnlessLate(
  pass: Pass,
  keys: readonly string[],
  { before, there }: { before: LateItems; there: ReadonlySet<string> },
): Steps<{ isDoubtful: boolean; late: string[] }> {
  const wanted = [...new Set(keys)]
  const allLate: string[] = []
  let isDoubtful = false
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    const read = await readThrough(pass, wanted.slice(at, at + READ_AT_ONCE))
    // Asked before the steps, which change the index.
    const held = read.gone.length === 0 ? null : await pass.known()
    const named = new Set([...there].filter(key => held?.has(key) === false))
    const { late, gone } = splitUnfound(before, { keys: read.gone, named, now: pass.connection.api.now() })
    allLate.push(...late)
    isDoubtful ||= gone.some(key => held?.has(key) === false)
    yield* stepsOf({ ...read, gone })
  }
  return { isDoubtful, late: allLate }
}

/** Reads events by their keys, and the series of occurrences among them. */
async function readThrough(pass: Pass, keys: readonly string[]): Promise<ReadEvents> {
  const read = await readByKeys(pass, [...new Set(keys)])
  note(pass, read)
  const more = [...new Set(read.series)].filter(key => !pass.read.has(key))
  if (more.length === 0) return read
  const series = await readByKeys(pass, more)
  note(pass, series)
  return merged(read, series)
}

function note({ read }: Pass, { items }: ReadEvents): void {
  for (const item of items) if (item.type === 'item' && item.recurrence !== null) read.add(item.key)
}

function merged(one: ReadEvents, other: ReadEvents): ReadEvents {
  return {
    items: [...one.items, ...other.items],
    unreadable: [...one.unreadable, ...other.unreadable],
    gone: [...one.gone, ...other.gone],
    series: [],
  }
}

function* stepsOf({ items, unreadable, gone }: ReadEvents): Generator<EventsStep, void, void> {
  if (gone.length > 0) yield { type: 'gone', keys: gone }
  const count = Math.max(items.length, unreadable.length)
  for (let at = 0; at < count; at += STEP_MAX)
    yield {
      type: 'items',
      items: items.slice(at, at + STEP_MAX),
      unreadable: unreadable.slice(at, at + STEP_MAX),
      remaining: null,
    }
}
