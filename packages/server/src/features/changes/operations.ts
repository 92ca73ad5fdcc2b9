import { implement } from '@orpc/server'
import { changes } from '@waxwing/contract/changes.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { ReadyPage } from '../../kit/ready-page.ts'
import type { RequestContext } from '../context.ts'
import { refuse } from '../refuse.ts'
import { findFeedHead, readFeed } from './store.ts'

const on = implement(changes).$context<RequestContext>()

export const changeOperations = {
  list: on.list.handler(async ({ input: { query }, context }) => {
    const { db, tenantId, credential } = context
    const { cursors } = context.services
    const feed = { tenantId, list: 'changes' }

    if (query.cursor === undefined && query.start === 'now') {
      return { items: [], nextCursor: cursors.sealLasting([await findFeedHead(db, tenantId)], feed) }
    }
    const after = query.cursor === undefined ? '0' : cursors.openLasting(query.cursor, feed)?.[0]
    if (after === undefined) refuse('invalid_cursor')
    const filter = { tenantId, accountIds: credential.accountIds, types: query.types ?? null }
    const { items, readUpTo } = await readFeed(db, filter, after, query.limit)
    return new ReadyPage<ChangeEvent, string>(items, cursors.sealLasting([readUpTo], feed))
  }),
}
