import { implement } from '@orpc/server'
import { type ThreadSummary, threads } from '@waxwing/contract/mail/threads.ts'
import { cutPage } from '../../../database/page.ts'
import { ReadyPage } from '../../../kit/ready-page.ts'
import { requireAccount } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requirePosition, sealPosition } from '../../../calls/list-cursor.ts'
import { requireMailbox } from '../mailboxes/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findThread, listThreads } from './store.ts'

const on = implement(threads).$context<RequestContext>()

export const threadOperations = {
  list: on.list.handler(async ({ input: { params, query }, context }) => {
    const { limit, cursor, mailboxId } = query
    const binding = { list: `accounts/${params.accountId.toLowerCase()}/threads`, filters: { mailboxId } }
    const position = requirePosition(context, cursor, binding)
    const account = await requireAccount(context, params.accountId)

    const rows = await listThreads(context.db, account.id, { mailboxId, position, limit })
    if (rows.length === 0 && mailboxId) await requireMailbox(context.db, account.id, mailboxId)

    const { page, hasMore } = cutPage(rows, limit)
    const items = page.map(({ json }) => json)
    return new ReadyPage<ThreadSummary>(items, hasMore ? sealPosition(context, page.at(-1)!, binding) : null)
  }),

  get: on.get.handler(async ({ input: { params }, context }) => {
    const account = await requireAccount(context, params.accountId)
    return (await findThread(context.db, account.id, params.threadId)) ?? refuse('thread_not_found')
  }),
}
