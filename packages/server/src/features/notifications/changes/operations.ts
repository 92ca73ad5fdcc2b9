import { implement } from '@orpc/server'
import { changes } from '@waxwing/contract/notifications/changes.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { ReadyPage } from '../../../kit/ready-page.ts'
import type { RequestContext } from '../../context.ts'
import { recordRestore } from '../../../database/feed-epoch.ts'
import type { Db } from '../../../database/pool.ts'
import { refuse } from '../../refuse.ts'
import { type FeedPage, type FeedPosition, findFeedHead, readFeed } from './store.ts'

const OLDER_HISTORY =
  'The database was restored to an earlier state after this cursor was issued. Start again without a cursor, and ' +
  'compare what you hold with the lists.'

const on = implement(changes).$context<RequestContext>()

export const changeOperations = {
  list: on.list.handler(async ({ input: { query }, context }) => {
    const { db, tenantId, credential, cursors } = context
    const feed = { tenantId, list: 'changes' }
    const seal = ({ id, epoch }: FeedPosition) => cursors.sealLasting(epoch === '' ? [id] : [id, epoch], feed)

    if (query.cursor === undefined && query.start === 'now') {
      return { items: [], nextCursor: seal(await findFeedHead(db, tenantId)) }
    }
    const [after, epoch = ''] =
      query.cursor === undefined ? ['0'] : (cursors.openLasting(query.cursor, feed) ?? [])
    if (after === undefined) refuse('invalid_cursor')
    const filter = { tenantId, accountIds: credential.accountIds, types: query.types ?? null }
    const page = await readFeed(db, filter, after, query.limit)
    if (query.cursor !== undefined) await requireSameHistory(db, { id: after, epoch }, page)
    const nextCursor = seal({ id: page.readUpTo, epoch: page.epoch })
    return new ReadyPage<ChangeEvent, string>(page.items, nextCursor)
  }),
}

/** Refuses a cursor from before the database was restored to an earlier state. */
async function requireSameHistory(db: Db, { id, epoch }: FeedPosition, page: FeedPage): Promise<void> {
  const isSame = epoch === page.epoch
  // We issued the cursor, so the id was in use: a database that has not reached it was restored to an earlier state.
  const isAhead = isSame && BigInt(id) > BigInt(page.lastId)
  if (isAhead) await recordRestore(db)
  if (!isSame || isAhead) refuse('invalid_cursor', undefined, { message: OLDER_HISTORY })
}
