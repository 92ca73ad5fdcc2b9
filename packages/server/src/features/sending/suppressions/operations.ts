import { implement } from '@orpc/server'
import { GLOBAL_LIST, SUPPRESSION_LIST_ID, suppressions } from '@waxwing/contract/sending/suppressions.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { answerPage, requirePosition } from '../../../calls/list-cursor.ts'
import { refuse } from '../../../calls/refuse.ts'
import { presentGlobalList, presentList, presentSuppression } from './present.ts'
import { recordListDeleted, recordNamedList, recordNewList, updateList } from './record-lists.ts'
import { recordSuppressed, recordUnsuppressed } from './record-suppressed.ts'
import { findList, listEntries, listLists } from './store.ts'

const on = implement(suppressions).$context<RequestContext>()

export const suppressionOperations = {
  list: on.list.handler(async ({ context }) => {
    const rows = await listLists(context.db, context.tenantId)
    const global = rows.find(({ id }) => id === GLOBAL_LIST) ?? null
    const named = rows.filter(row => row !== global)
    return { items: [presentGlobalList(global), ...named.map(presentList)] }
  }),

  create: on.create.handler(async ({ input: { body }, context }) => {
    if (body.id === GLOBAL_LIST) refuse('suppression_list_exists')
    return context.change(async unit => {
      const { id, name, description = null } = body
      const row = await recordNewList(unit, { id, name, description }, ['id'])
      return presentList(row ?? refuse('suppression_list_exists'))
    })
  }),

  update: on.update.handler(async ({ input: { params, body }, context }) => {
    requireNamed(params.listId)
    return context.change(async unit => {
      const row = await updateList(unit, params.listId, body)
      return presentList(row ?? refuse('suppression_list_not_found'))
    })
  }),

  delete: on.delete.handler(async ({ input: { params, query }, context }) => {
    requireNamed(params.listId)
    return context.change(async unit => {
      await recordListDeleted(unit, params.listId, query)
      return null
    })
  }),

  listEntries: on.listEntries.handler(async ({ input: { params, query }, context }) => {
    const { limit, cursor, ...filters } = query
    const { listId } = params
    const list = await findList(context.db, context.tenantId, listId)
    if (!list && listId !== GLOBAL_LIST) refuse('suppression_list_not_found')
    const binding = { list: `suppressions/${listId}/entries`, filters }
    const position = requirePosition(context, cursor, binding)
    if (!list) return { items: [], nextCursor: null }
    const { rows, scannedTo } = await listEntries(context.db, list.key, { filters, position, limit })
    return answerPage(context, rows, { limit, binding, scannedTo, present: presentSuppression })
  }),

  addEntries: on.addEntries.handler(async ({ input: { params, body }, context }) => {
    const { listId } = params
    if (!SUPPRESSION_LIST_ID.test(listId)) refuse('suppression_list_not_found')
    const addresses = [...new Set(body.addresses.map(comparedAddress))]
    return context.change(async unit => {
      await recordNamedList(unit, listId)
      const added = await recordSuppressed(
        unit,
        addresses.map(address => ({
          listId,
          address,
          source: 'api',
          reason: body.reason ?? '',
          accountId: null,
          outboxId: null,
        })),
      )
      return { added: added.length, alreadyListed: addresses.length - added.length }
    })
  }),

  deleteEntry: on.deleteEntry.handler(async ({ input: { params }, context }) =>
    context.change(async unit => {
      await recordUnsuppressed(unit, params.listId, params.address)
      return null
    }),
  ),
}

function requireNamed(listId: string): void {
  if (listId !== GLOBAL_LIST) return
  const message = 'the global list cannot be changed or deleted'
  refuse('invalid_input', { issues: [{ path: ['listId'], message }] })
}
