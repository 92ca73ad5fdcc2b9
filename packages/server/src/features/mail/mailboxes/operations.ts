import { implement } from '@orpc/server'
import { mailboxes } from '@waxwing/contract/mail/mailboxes.ts'
import { requireAccount } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { presentMailbox } from './present.ts'
import { listMailboxes } from './store.ts'

const on = implement(mailboxes).$context<RequestContext>()

export const mailboxOperations = {
  list: on.list.handler(async ({ input, context }) => {
    const account = await requireAccount(context, input.params.accountId)
    const rows = await listMailboxes(context.db, account.id)
    return { items: rows.map(presentMailbox) }
  }),
}
