import type { CalendarWindow } from '../../calendars.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GraphRequest, segment } from '../api.ts'
import { isOfPart } from '../../http/ask-twice.ts'
import { askTwice } from '../ask-twice.ts'
import { beginDelta, continueDelta, type DeltaForm, type DeltaPage } from '../delta.ts'
import { type GraphItem, itemSchema, itemsSchema, versionOf } from '../items.ts'
import { pathOfCalendar, PROBE } from './calendar-list.ts'
import type { CalendarsConnection } from './calendars-connection.ts'

/** Events of a page. The default of 10 would cost a call for every ten. Bodies may be long. */
const PER_PAGE = 200
const LISTED_PER_PAGE = 500
export const PAGE_BYTES_MAX = 32 * 1024 * 1024
/** Pages of one list. */
const PAGES_MAX = 1_000
const LISTED_FIELDS = 'id,changeKey,type,seriesMasterId'

/** Every request of this form has the same fields: a delta of a calendar view takes no `$select`. */
const DELTA: DeltaForm<GraphItem> = {
  schema: itemsSchema,
  prefer: [`odata.maxpagesize=${PER_PAGE}`],
  answerBytesMax: PAGE_BYTES_MAX,
  // A field that is null has no value.
  given: item => item,
}

export const viewQuery = ({ start, end }: CalendarWindow) => ({
  startDateTime: start.toISOString(),
  endDateTime: end.toISOString(),
})

/** Begins a walk through all events of a calendar that take place in a time. */
export function beginEvents(
  connection: CalendarsConnection,
  calendarKey: string,
  window: CalendarWindow,
  options: AskOptions,
): Promise<DeltaPage<GraphItem>> {
  const path = `${pathOfCalendar(calendarKey)}/calendarView/delta`
  return beginDelta(connection, { ...DELTA, path, query: viewQuery(window) }, options)
}

/** Throws `LinkExpired` if Graph does not know the link. */
export function continueEvents(
  connection: CalendarsConnection,
  link: string,
  options: AskOptions,
): Promise<DeltaPage<GraphItem>> {
  return continueDelta(connection, link, DELTA, options)
}

/** The items of a list, page by page. */
export async function* listItems(
  { api }: Pick<CalendarsConnection, 'api'>,
  request: Pick<GraphRequest<unknown>, 'path' | 'query'>,
  options: AskOptions,
): AsyncGenerator<GraphItem[], void, void> {
  const asked = { ...request, schema: itemsSchema, accepts: [200], answerBytesMax: PAGE_BYTES_MAX }
  let page = (await api.ask(asked, options)).value
  for (let pages = 1; ; pages += 1) {
    yield page.value
    const link = page['@odata.nextLink']
    if (link === undefined || pages >= PAGES_MAX) return
    page = await api.follow(link, itemsSchema, { ...options, answerBytesMax: PAGE_BYTES_MAX })
  }
}

/**
 * Keys and versions of the single events and the series that have a part in a time, page by page. The versions of series come
 * last, since a calendar view has only their occurrences.
 */
export async function* listVersions(
  connection: CalendarsConnection,
  calendarKey: string,
  window: CalendarWindow,
  options: AskOptions,
): AsyncGenerator<Map<string, string>, void, void> {
  const path = `${pathOfCalendar(calendarKey)}/calendarView`
  const query = { ...viewQuery(window), $select: LISTED_FIELDS, $top: LISTED_PER_PAGE }
  const series = new Set<string>()
  for await (const items of listItems(connection, { path, query }, options)) {
    for (const item of items) {
      const seriesKey = seriesOf(item)
      if (seriesKey !== null) series.add(seriesKey)
    }
    yield versionsOf(items.filter(item => seriesOf(item) === null))
  }
  const keys = [...series]
  for (let at = 0; at < keys.length; at += BATCH_PARTS_MAX) {
    const requests = keys.slice(at, at + BATCH_PARTS_MAX).map((key): GraphRequest<GraphItem> => ({
      path: pathOfEvent(calendarKey, key),
      query: { $select: 'id,changeKey' },
      schema: itemSchema,
      accepts: [200],
    }))
    const outcomes = await askTwice(connection.api, requests, options, PROBE)
    yield versionsOf(
      outcomes.flatMap(({ value, failure }) => {
        // It was deleted since it was listed.
        if (failure?.kind === 'not_found') return []
        // A series that a listing lacks is asked for by its key before it counts as gone.
        if (failure && isOfPart(failure)) return []
        if (failure) throw failure
        return [value]
      }),
    )
  }
}

const versionsOf = (items: readonly GraphItem[]): Map<string, string> =>
  new Map(
    items.flatMap(item => {
      const version = versionOf(item)
      return version === null ? [] : [[item.id, version] as const]
    }),
  )

/** The key of the series to which an occurrence or an exception belongs; null for any other event. */
export function seriesOf({ seriesMasterId }: GraphItem): string | null {
  return typeof seriesMasterId === 'string' && seriesMasterId !== '' ? seriesMasterId : null
}

export function pathOfEvent(calendarKey: string, key: string): string {
  return `${pathOfCalendar(calendarKey)}/events/${segment(key)}`
}
