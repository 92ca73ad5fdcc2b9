import { implement } from '@orpc/server'
import { contacts } from '@waxwing/contract/contacts/contacts.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type CursorBinding, cutPage } from '../../../database/page.ts'
import { requireFolderKey } from '../folders/store.ts'
import { requireContact, requireContacts } from './access.ts'
import { presentContact } from './present.ts'
import { type ByName, listContacts } from './store.ts'

const on = implement(contacts).$context<RequestContext>()

export const contactOperations = {
  list: on.list.handler(async ({ input: { params, query }, context }) => {
    const { limit, cursor, ...filters } = query
    const account = await requireContacts(context, params.accountId)
    const binding = { tenantId: context.tenantId, list: `accounts/${account.id}/contacts`, filters }
    const position = requireNamePosition(context, cursor, binding)
    if (filters.folderId !== undefined) await requireFolderKey(context.db, account.id, filters.folderId)
    const { page, hasMore } = cutPage(
      await listContacts(context.db, account.id, {
        filters: { q: filters.q, folderId: filters.folderId },
        position,
        limit,
      }),
      limit,
    )
    const last = page.at(-1)
    const next = hasMore && last ? context.cursors.seal([last.sort_name, last.id], binding) : null
    return { items: page.map(presentContact), nextCursor: next }
  }),

  get: on.get.handler(async ({ input: { params }, context }) => {
    const { contact } = await requireContact(context, params)
    return presentContact(contact)
  }),
}

function requireNamePosition(
  { cursors }: Pick<RequestContext, 'cursors'>,
  cursor: string | undefined,
  binding: CursorBinding,
): ByName | null {
  if (cursor === undefined) return null
  const [sortName, id] = cursors.open(cursor, binding) ?? []
  return sortName !== undefined && id !== undefined ? { sortName, id } : refuse('invalid_cursor')
}
