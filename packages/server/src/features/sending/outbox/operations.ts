import { implement } from '@orpc/server'
import { outbox } from '@waxwing/contract/sending/outbox.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireAccount } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { answerPage, requirePosition } from '../../../calls/list-cursor.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { EndWatch } from './await-end.ts'
import { releaseEntry } from './held.ts'
import { presentEntry } from './present.ts'
import { recordCancelled, recordRescheduled } from './record.ts'
import { sendMessage, type SendServices } from '../accepting/send-message.ts'
import { requireSendingTerms } from '../accepting/sending-terms.ts'
import { findEntry, listEntries } from './store.ts'

const on = implement(outbox).$context<RequestContext>()

export function outboxOperations({ ends, ...services }: SendServices & { ends: EndWatch }) {
  return {
    list: on.list.handler(async ({ input: { params, query }, context }) => {
      const { limit, cursor, ...filters } = query
      const { id } = await requireAccount(context, params.accountId)
      if (filters.since && filters.until && filters.until <= filters.since) refuse('invalid_range')
      const status = filters.status?.toSorted().join()
      const binding = { list: `accounts/${id}/outbox`, filters: { ...filters, status } }
      const position = requirePosition(context, cursor, binding)
      const rows = await listEntries(context.db, id, { filters, position, limit })
      return answerPage(context, rows, { limit, binding, present: presentEntry })
    }),

    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const terms = await requireSendingTerms(context, services, params.accountId)
      return sendMessage(context, services, terms, body)
    }),

    get: on.get.handler(async ({ input: { params, query }, context }) => {
      const { id: accountId } = await requireAccount(context, params.accountId)
      const row = await requireEntry(context, accountId, params.outboxId)
      const isOpen = row.status === 'queued' || row.status === 'sending'
      if (!isOpen || query.waitSeconds === 0) return presentEntry(row)
      await context.wait(ended => ends.wait(row.id, query.waitSeconds, ended))
      return presentEntry(await requireEntry(context, accountId, row.id))
    }),

    reschedule: on.reschedule.handler(async ({ input: { params, body }, context }) => {
      const { id: accountId } = await requireAccount(context, params.accountId)
      const { id } = await requireEntry(context, accountId, params.outboxId)
      return context.change(async unit => {
        const row = await recordRescheduled(unit, { accountId, id }, body.sendAt)
        unit.wake(accountId, 'waxwing_outbox')
        return presentEntry(row)
      })
    }),

    release: on.release.handler(async ({ input: { params }, context }) => {
      const { id: accountId } = await requireAccount(context, params.accountId)
      const { id } = await requireEntry(context, accountId, params.outboxId)
      return context.change(async unit => {
        const row = await releaseEntry(unit, { accountId, id })
        unit.wake(accountId, 'waxwing_outbox')
        return presentEntry(row)
      })
    }),

    cancel: on.cancel.handler(async ({ input: { params }, context }) => {
      const { id: accountId } = await requireAccount(context, params.accountId)
      const { id } = await requireEntry(context, accountId, params.outboxId)
      return context.change(async unit => {
        await recordCancelled(unit, { accountId, id })
        return null
      })
    }),
  }
}

async function requireEntry(context: RequestContext, accountId: string, outboxId: string) {
  if (!isUuid(outboxId)) refuse('send_not_found')
  return (await findEntry(context.db, accountId, outboxId)) ?? refuse('send_not_found')
}
