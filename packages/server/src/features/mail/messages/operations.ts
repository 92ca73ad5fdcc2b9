import { implement } from '@orpc/server'
import { type MessageSummary, messages } from '@waxwing/contract/mail/messages.ts'
import { cutPage } from '../../../database/page.ts'
import { ReadyPage } from '../../../kit/ready-page.ts'
import { requireAccount, requireReachable } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requirePosition, sealPosition } from '../../../calls/list-cursor.ts'
import { requireMailbox } from '../mailboxes/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import { listSummaries } from './store.ts'

const on = implement(messages).$context<RequestContext>()

export const messageOperations = {
  list: on.list.handler(async ({ input: { params, query }, context }) => {
    const { limit, cursor, ...filters } = query
    if (filters.after && filters.before && filters.before <= filters.after) refuse('invalid_range')
    const binding = { list: `accounts/${params.accountId.toLowerCase()}/messages`, filters }
    const position = requirePosition(context, cursor, binding)
    const account = { tenantId: context.tenantId, id: requireReachable(context.credential, params.accountId) }

    const rows = await listSummaries(context.db, account, { filters, position, limit })
    // A page that holds messages proves that account and mailbox are what they must be: it is read by one statement.
    if (rows.length === 0) {
      await requireAccount(context, params.accountId)
      if (filters.mailboxId) await requireMailbox(context.db, account.id, filters.mailboxId)
    }

    const { page, hasMore } = cutPage(rows, limit)
    return new ReadyPage<MessageSummary>(page, hasMore ? cursorAfter(page.at(-1)!) : null)

    function cursorAfter(json: string) {
      const { receivedAt, id } = JSON.parse(json) as MessageSummary
      return sealPosition(context, { time: receivedAt, id }, binding)
    }
  }),
}
