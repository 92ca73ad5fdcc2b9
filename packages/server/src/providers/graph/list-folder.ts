import { ProviderFailure } from '../failure.ts'
import { type AskOptions, type GraphRequest, segment } from './api.ts'
import type { ListPosition } from './cursor.ts'
import type { GraphConnection } from './graph-connection.ts'

export interface Listing<T> {
  items: T[]
  /** Null after the last page. */
  next: ListPosition | null
  /** Number of all messages in the window, if it was asked for. */
  total: number | null
}

interface Page<T> {
  value: T[]
  '@odata.count'?: number | undefined
  '@odata.nextLink'?: string | undefined
}

export interface ListQuery<T> {
  schema: GraphRequest<Page<T>>['schema']
  query: Readonly<Record<string, string>>
  /** Milliseconds since 1970; null for all messages. */
  since: number | null
  position: ListPosition
  pageSize: number
  isCounted?: boolean
}

const SECOND_MS = 1_000
/** Bytes of a page; a page of whole messages has the most. */
const PAGE_BYTES_MAX = 32 * 1024 * 1024

/**
 * One page of the messages of a folder by the time of their arrival, newest first. Pages are told apart by that time, so
 * that messages which come and go in between move no others: only messages of one second that fill a page are read on by
 * the link that Graph gives.
 */
export async function listFolder<T extends { id: string; receivedDateTime?: number | null | undefined }>(
  { api }: Pick<GraphConnection, 'api'>,
  source: string,
  { schema, query, since, position, pageSize, isCounted = false }: ListQuery<T>,
  options: AskOptions,
): Promise<Listing<T>> {
  const { until, at, link } = position
  const filters = [
    ...(since === null ? [] : [`receivedDateTime ge ${new Date(since).toISOString()}`]),
    ...(until === null ? [] : [`receivedDateTime lt ${new Date(until + SECOND_MS).toISOString()}`]),
  ]
  const page =
    link === null
      ? (
          await api.ask(
            {
              path: `mailFolders/${segment(source)}/messages`,
              query: {
                ...query,
                $top: pageSize,
                $filter: filters.length === 0 ? undefined : filters.join(' and '),
                $orderby: 'receivedDateTime desc',
                $count: isCounted ? true : undefined,
              },
              schema,
              accepts: [200],
              answerBytesMax: PAGE_BYTES_MAX,
            },
            options,
          )
        ).value
      : await api.follow(link, schema, options)
  const known = new Set(at)
  const next = nextPosition(page, position)
  if (next?.link) api.requireOwn(next.link)
  if (next?.link && next.link === link)
    throw new ProviderFailure('unavailable', 'Microsoft Graph gave a link that leads to itself.')
  return {
    items: page.value.filter(({ id }) => !known.has(id)),
    next,
    total: page['@odata.count'] ?? null,
  }
}

/** The position behind a page. */
export function nextPosition<T extends { id: string; receivedDateTime?: number | null | undefined }>(
  page: Page<T>,
  { until, at }: ListPosition,
): ListPosition | null {
  const nextLink = page['@odata.nextLink']
  if (nextLink === undefined) return null
  const seconds = page.value.flatMap(({ receivedDateTime }) =>
    receivedDateTime === null || receivedDateTime === undefined
      ? []
      : [Math.floor(receivedDateTime / SECOND_MS) * SECOND_MS],
  )
  const oldest = Math.min(...seconds)
  const isOneSecond = seconds.every(second => second === oldest)
  if (isOneSecond && until === null && seconds.length > 0) return { until: oldest, at, link: nextLink }
  if (isOneSecond || (until !== null && oldest >= until)) return { until, at, link: nextLink }
  const isOldest = ({ receivedDateTime }: T) =>
    Math.floor((receivedDateTime ?? Number.NaN) / SECOND_MS) * SECOND_MS === oldest
  return { until: oldest, at: page.value.filter(isOldest).map(({ id }) => id), link: null }
}
