import { implement } from '@orpc/server'
import { messages } from '@waxwing/contract/mail/messages.ts'
import type { Connections } from '../../../connections/connections.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { ReachedRow } from '../../accounts/accounts/rules.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { changeAtProvider, refuseGone } from '../at-provider.ts'
import { requireMailboxByRole, requireNamed } from '../mailboxes/access.ts'
import { findMailboxByRole, listProviderMailboxes } from '../mailboxes/store.ts'
import { type ChangeableMessage, requireChangeable } from './access.ts'
import { beginChange, changeMessages, removeMessages } from './change.ts'
import { changesNothing, planChange, planTrashing } from './change-rules.ts'
import { LastRecord } from './last-record.ts'
import { presentSummary } from './present.ts'
import { findMessage } from './store.ts'

const on = implement(messages).$context<RequestContext>()

/** The operations that change a message at its provider. */
export function messageChangeOperations({ connections }: { connections: Connections }) {
  return {
    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, message, located } = await requireChangeable(context, params)
      const { mailboxId, addMailboxIds = [], removeMailboxIds = [] } = body
      const named = [...(mailboxId === undefined ? [] : [mailboxId]), ...addMailboxIds, ...removeMailboxIds]
      const plan = planChange(message, body, await requireNamed(context, account.id, named))
      requireConnectable(account)
      const { db, step } = context
      const last = new LastRecord(step)
      const changing = beginChange({ db, step, connections, record: work => last.record(work) })
      if (!changesNothing(plan)) {
        const at = located ?? (await refuseUnlocated(context, account, message))
        const gone = await changeAtProvider(context, account, () =>
          changeMessages(changing, account, [at], plan).catch(async (error: unknown) => {
            await last.flush()
            throw error
          }),
        )
        if (gone.size > 0) {
          await last.flush()
          await refuseGone(context, account)
        }
      }
      return context.change(
        async unit => {
          const recorded = await last.finish(unit, { mayAssume: unit.mayAssume ?? false })
          const row = recorded.get(message.id) ?? (await findMessage(unit.sql, account.id, message.id))
          return row ? presentSummary(row) : refuse('message_not_found')
        },
        { mayAssume: true },
      )
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const { account, message, located } = await requireChangeable(context, params)
      requireConnectable(account)
      const { db, step } = context
      const changing = beginChange({ db, step, connections })
      if (query.permanent) {
        const at = located ?? (await refuseUnlocated(context, account, message))
        const gone = await changeAtProvider(context, account, () => removeMessages(changing, account, [at]))
        if (gone.size > 0) await refuseGone(context, account)
      } else if (!(await isInTrash(context, account, message))) {
        const at = located ?? (await refuseUnlocated(context, account, message))
        const gone = await changeAtProvider(context, account, async () => {
          const trash = await requireMailboxByRole(changing, account, 'trash')
          const plan = planTrashing(trash, await listProviderMailboxes(db, account.id))
          return changeMessages(changing, account, [at], plan)
        })
        if (gone.size > 0) await refuseGone(context, account)
      }
      return context.change(async () => null)
    }),
  }
}

/** Refuses a message of which it is not known where the provider has it. */
async function refuseUnlocated(
  context: RequestContext,
  account: ReachedRow,
  message: ChangeableMessage,
): Promise<never> {
  if (message.is_renumbered) refuse('provider_unavailable')
  return refuseGone(context, account)
}

async function isInTrash(
  context: RequestContext,
  account: ReachedRow,
  message: ChangeableMessage,
): Promise<boolean> {
  const trash = await findMailboxByRole(context.db, account.id, 'trash')
  return trash !== null && message.mailbox_ids.includes(trash.id)
}
