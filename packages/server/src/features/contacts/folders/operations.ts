import { implement } from '@orpc/server'
import { contactFolders } from '@waxwing/contract/contacts/contacts.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireContacts } from '../contacts/access.ts'
import { presentFolder } from './present.ts'
import { listShownFolders } from './store.ts'

const on = implement(contactFolders).$context<RequestContext>()

export const contactFolderOperations = {
  list: on.list.handler(async ({ input: { params }, context }) => {
    const account = await requireContacts(context, params.accountId)
    return { items: (await listShownFolders(context.db, account.id)).map(presentFolder) }
  }),
}
