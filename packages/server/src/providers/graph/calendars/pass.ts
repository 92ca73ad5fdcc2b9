import type { EventsStep } from '../../calendars.ts'
import type { DeltaPage } from '../delta.ts'
import { type GraphItem, versionOf } from '../items.ts'
import type { CalendarCursor } from './cursor.ts'
import { isWhole } from './event.ts'
import { seriesOf } from './pages.ts'
import { nothingRead, readByKeys, type ReadEvents, readFound } from './reading.ts'
import type { ReadingPlace } from './place.ts'

export type Steps<T> = AsyncGenerator<EventsStep, T, void>

/** Events of one step. */
const STEP_MAX = 50

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
}

function sortPage(page: Pick<DeltaPage<GraphItem>, 'items'>): SortedPage {
  const sorted: SortedPage = { whole: [], keys: new Set(), series: new Set() }
  for (const item of page.items) {
    const seriesKey = seriesOf(item)
    // An occurrence comes by a few properties, which never replace those of an event.
    if (seriesKey !== null) sorted.series.add(seriesKey)
    else if (String(item['type']).toLowerCase() === 'seriesmaster') sorted.series.add(item.id)
    else if (isWhole(item)) sorted.whole.push(item)
    else sorted.keys.add(item.id)
  }
  return sorted
}

/**
 * Brings the events of a page of a walk of which the index has another version, and the series that it names.
 * @returns the keys of the events and the series that the page names
 */
export async function* bringPage(
  pass: Pass,
  page: DeltaPage<GraphItem>,
  { held, cursor }: { held: ReadonlyMap<string, string>; cursor: CalendarCursor | undefined },
): Steps<Set<string>> {
  const { whole, keys, series } = sortPage(page)
  const news = whole.filter(item => held.get(item.id) !== versionOf(item))
  const named = new Set([...whole.map(({ id }) => id), ...keys, ...series])
  const result = nothingRead()
  await readFound(pass, news, result)
  const asked = [...keys, ...page.removed, ...unread(pass, series)]
  const read = await readThrough(pass, asked)
  yield* stepsOf(merged(result, read), cursor)
  return named
}

/**
 * Brings what a page of a later round names, as it is now. Keys that are not found are gone.
 * @returns `doubtful` if some of them are not of the index, so that they may be those of occurrences
 */
export async function* bringChanges(pass: Pass, page: DeltaPage<GraphItem>): Steps<'sure' | 'doubtful'> {
  const { whole, keys, series } = sortPage(page)
  const result = nothingRead()
  await readFound(pass, whole, result)
  const read = await readThrough(pass, [...keys, ...page.removed, ...unread(pass, series)])
  // Asked before the steps, which change the index.
  const held = read.gone.length === 0 ? null : await pass.known()
  yield* stepsOf(merged(result, read))
  return read.gone.some(key => held?.has(key) === false) ? 'doubtful' : 'sure'
}

/** Brings events by their keys, and reports those that are gone. */
export async function* bringByKeys(pass: Pass, keys: readonly string[]): Steps<void> {
  const wanted = [...new Set(keys)].filter(key => !pass.read.has(key))
  for (let at = 0; at < wanted.length; at += STEP_MAX)
    yield* stepsOf(await readThrough(pass, wanted.slice(at, at + STEP_MAX)))
}

function unread(pass: Pass, series: ReadonlySet<string>): string[] {
  return [...series].filter(key => !pass.read.has(key))
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

/** The last step has the cursor, if there is one. */
function* stepsOf(
  { items, unreadable, gone }: ReadEvents,
  cursor?: CalendarCursor,
): Generator<EventsStep, void, void> {
  if (gone.length > 0) yield { type: 'gone', keys: gone }
  const count = Math.max(items.length, unreadable.length)
  for (let at = 0; at < count; at += STEP_MAX)
    yield {
      type: 'items',
      items: items.slice(at, at + STEP_MAX),
      unreadable: unreadable.slice(at, at + STEP_MAX),
      remaining: null,
      ...(cursor && at + STEP_MAX >= count && { cursor }),
    }
  if (cursor && count === 0) yield { type: 'gone', keys: [], cursor }
}
