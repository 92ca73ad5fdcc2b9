import { implement } from '@orpc/server'
import { changes } from '@waxwing/contract/notifications/changes.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { ReadyPage } from '../../../kit/ready-page.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { recordRestore } from '../../../database/feed-epoch.ts'
import type { Db } from '../../../database/pool.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { FeedWaiter, FeedWatch } from './feed-watch.ts'
import { type FeedFilter, type FeedPage, type FeedPosition, findFeedHead, isLost, readFeed } from './store.ts'
import { STREAM_PAGE_EVENTS, streamFeed } from './stream.ts'

const OLDER_HISTORY =
  'The database was restored to an earlier state after this cursor was issued. Start again without a cursor, and ' +
  'compare what you hold with the lists.'
const EVENT_ID = /^[0-9]{1,19}$/
const EVENT_ID_MAX = 2n ** 63n - 1n

const on = implement(changes).$context<RequestContext>()

/** The position after which a caller reads, and whether it holds it from an earlier answer. */
interface Start {
  position: FeedPosition
  isGiven: boolean
}

export function changeOperations(watch: FeedWatch) {
  return {
    list: on.list.handler(async ({ input: { query }, context }) => {
      const { db, tenantId } = context
      const { start, limit, waitSeconds } = query
      if (query.cursor === undefined && start === 'now' && waitSeconds === 0)
        return { items: [], nextCursor: seal(context, await findFeedHead(db, tenantId)) }
      const from = await findStart(context, query)
      const filter = filterOf(context, query)
      const page = await (waitSeconds === 0
        ? readFrom(db, from, after => readFeed(db, filter, after, limit))
        : context.wait(ended => readOrWait(watch, filter, { context, ended, from, limit, waitSeconds })))
      return new ReadyPage<ChangeEvent, string>(
        page.items.map(({ json }) => json),
        seal(context, { id: page.readUpTo, epoch: page.epoch }),
      )
    }),

    stream: on.stream.handler(async ({ input: { query }, context }) => {
      const { db, lastEventId } = context
      const filter = filterOf(context, query)
      const ended = context.stream()
      const waiter = watch.enter(filter)
      whenAborted(ended, () => waiter[Symbol.dispose]())
      const read = (after: string) => waiter.read(after, STREAM_PAGE_EVENTS)
      const page =
        lastEventId === null
          ? await readFrom(db, await findStart(context, query), read)
          : await readAfterEvent(context, lastEventId, read)
      const isFiltered = filter.accountIds !== null || filter.types !== null
      return { content: streamFeed({ waiter, page, isFiltered, ended }) }
    }),
  }
}

function filterOf(
  { tenantId, credential }: RequestContext,
  query: { types?: FeedFilter['types'] | undefined },
) {
  return { tenantId, accountIds: credential.accountIds, types: query.types ?? null }
}

const feedOf = ({ tenantId }: RequestContext) => ({ tenantId, list: 'changes' })

function seal(context: RequestContext, { id, epoch }: FeedPosition): string {
  return context.cursors.sealLasting(epoch === '' ? [id] : [id, epoch], feedOf(context))
}

async function findStart(
  context: RequestContext,
  query: { cursor?: string | undefined; start?: 'now' | undefined },
): Promise<Start> {
  if (query.cursor !== undefined) {
    const [id, epoch = ''] = context.cursors.openLasting(query.cursor, feedOf(context)) ?? []
    return { position: { id: id ?? refuse('invalid_cursor'), epoch }, isGiven: true }
  }
  if (query.start === 'now')
    return { position: await findFeedHead(context.db, context.tenantId), isGiven: false }
  return { position: { id: '0', epoch: '' }, isGiven: false }
}

/** Reads the first page. Refuses a position from before the database was restored to an earlier state. */
async function readFrom(
  db: Db,
  { position, isGiven }: Start,
  read: (after: string) => Promise<FeedPage>,
): Promise<FeedPage> {
  const page = await read(position.id)
  if (!isGiven) return page
  const isSame = position.epoch === page.epoch
  // We issued the cursor, so the id was in use: a database that has not reached it was restored to an earlier state.
  const isAhead = isSame && BigInt(position.id) > BigInt(page.lastId)
  if (isAhead) await recordRestore(db)
  if (!isSame || isAhead) refuseOlderHistory()
  return page
}

/** Reads after an event that the caller names. Unlike a cursor it proves nothing. */
async function readAfterEvent(
  { db, tenantId }: RequestContext,
  id: string,
  read: (after: string) => Promise<FeedPage>,
): Promise<FeedPage> {
  if (!EVENT_ID.test(id) || BigInt(id) > EVENT_ID_MAX) refuse('invalid_cursor')
  const page = await read(id)
  if (BigInt(id) > BigInt(page.lastId)) refuse('invalid_cursor')
  if (page.epoch !== '' && (await isLost(db, tenantId, id, page.lastId))) refuseOlderHistory()
  return page
}

function refuseOlderHistory(): never {
  return refuse('invalid_cursor', undefined, { message: OLDER_HISTORY })
}

interface Wait {
  context: RequestContext
  ended: AbortSignal
  from: Start
  limit: number
  waitSeconds: number
}

/** Reads until there is an event that fits, or the time is over, or the call has ended. */
async function readOrWait(
  watch: FeedWatch,
  filter: FeedFilter,
  { context, ended, from, limit, waitSeconds }: Wait,
): Promise<FeedPage> {
  const until = performance.now() + waitSeconds * 1_000
  using waiter: FeedWaiter = watch.enter(filter)
  let page = await readFrom(context.db, from, after => waiter.read(after, limit))
  const { epoch } = page
  while (page.items.length === 0 && performance.now() < until && !ended.aborted) {
    if (!page.hasMore) await waiter.pause(until - performance.now(), ended)
    if (ended.aborted) break
    page = await waiter.read(page.readUpTo, limit)
    if (page.epoch !== epoch) refuseOlderHistory()
  }
  return page
}

function whenAborted(signal: AbortSignal, end: () => void): void {
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}
