import type { ListedMessage, ListedPage, ListOptions } from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import type { ListingConnection } from './listings.ts'
import { LabelledIds } from './labelled-ids.ts'
import { flagsOf, mailboxKeysOf } from './labels.ts'
import { locateMessages } from './locate.ts'

const LISTED_PER_PAGE = 500

/**
 * `MailProvider.list`: messages by ascending id. The first page is empty, as others are until everything is listed: so a
 * call that fails loses nothing. The listing is kept for the next page; on another connection it is made again.
 */
export async function listPage(
  connection: ListingConnection,
  { since, after }: ListOptions,
): Promise<ListedPage> {
  const above = typeof after?.['above'] === 'string' ? after['above'] : ''
  const window = since?.getTime() ?? null
  const kept = connection.listed
  const isKept = after !== null && kept !== null && (kept.since ?? 0) <= (window ?? 0)
  const listed = isKept ? kept : new LabelledIds(connection, window)
  connection.listed = listed
  if (after === null) return { messages: [], next: { above } }
  if (!(await listed.fill())) return { messages: [], next: { above } }
  const ids = listed.ids()
  const start = firstAbove(ids, above)
  const page = pageOf(ids, start, listed.touched)
  const { found } = await locateMessages(
    connection,
    page.filter(id => listed.touched.has(id)),
  )
  const messages = page.flatMap((id): ListedMessage[] => {
    if (!listed.touched.has(id)) return [toListed(listed, id, connection.ignoredLabels)]
    const now = found.get(id)
    return now ? [{ key: id, ...now, receivedAt: null }] : []
  })
  const last = page.at(-1)
  const isEnd = last === undefined || start + page.length >= ids.length
  if (isEnd) connection.listed = null
  return { messages, next: isEnd ? null : { above: last } }
}

/** The index of the first id above another, in ascending ids. */
function firstAbove(ids: readonly string[], above: string): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ids[middle]! <= above) low = middle + 1
    else high = middle
  }
  return low
}

/** Ends before more messages would have to be fetched than one batch holds. */
function pageOf(ids: readonly string[], start: number, touched: ReadonlySet<string>): readonly string[] {
  const page = ids.slice(start, start + LISTED_PER_PAGE)
  let asked = 0
  const end = page.findIndex(id => touched.has(id) && ++asked > BATCH_PARTS_MAX)
  return end < 0 ? page : page.slice(0, end)
}

/** A message as it is listed. */
function toListed(listed: LabelledIds, id: string, ignoredLabels: ReadonlySet<string>): ListedMessage {
  const labels = listed.labelsOf(id)
  return {
    key: id,
    flags: flagsOf(labels),
    mailboxKeys: mailboxKeysOf(labels, ignoredLabels),
    receivedAt: null,
  }
}
