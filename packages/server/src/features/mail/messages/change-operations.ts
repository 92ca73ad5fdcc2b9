import { implement } from '@orpc/server'
import { messages } from '@waxwing/contract/mail/messages.ts'
import type { Connections } from '../../../connections/connections.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireAccount, requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import type { RequestContext } from '../../context.ts'
import { refuse } from '../../refuse.ts'
import { changeAtProvider, refuseGone } from '../at-provider.ts'
import { requireMailboxByRole } from '../mailboxes/access.ts'
import { findMailboxByRole, requireMailboxes } from '../mailboxes/store.ts'
import { beginChange, changeMessages, locateAll, removeMessages } from './change.ts'
import { changesNothing, planChange } from './change-rules.ts'
import { LastRecord } from './last-record.ts'
import { presentSummary } from './present.ts'
import { findMessage, type FullRow } from './store.ts'

const on = implement(messages).$context<RequestContext>()

/** The operations that change a message at its provider. */
export function messageChangeOperations({ connections }: { connections: Connections }) {
  return {
    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, message, located } = await requireMessage(context, params)
      const { mailboxId, addMailboxIds = [], removeMailboxIds = [] } = body
      const named = [...(mailboxId === undefined ? [] : [mailboxId]), ...addMailboxIds, ...removeMailboxIds]
      const plan = planChange(message, body, await requireMailboxes(context.db, account.id, named))
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
      return context.change(async unit => {
        await last.finish(unit)
        const row = await findMessage(unit.sql, account.id, message.id)
        return row ? presentSummary(row) : refuse('message_not_found')
      })
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const { account, message, located } = await requireMessage(context, params)
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
          const plan = { flags: null, labels: null, targetKey: trash.provider_key }
          return changeMessages(changing, account, [at], plan)
        })
        if (gone.size > 0) await refuseGone(context, account)
      }
      return context.change(async () => null)
    }),
  }
}

/** Reads the account, the message, and where the provider has it. Refuses what does not exist. */
async function requireMessage(context: RequestContext, params: { accountId: string; messageId: string }) {
  const [accountId, id] = [params.accountId.toLowerCase(), params.messageId.toLowerCase()]
  const isId = isUuid(accountId) && isUuid(id)
  // At the same time: that the account may be read is known before anything is done with the others.
  const [account, message, [located = null]] = await Promise.all([
    requireAccount(context, accountId),
    isId ? findMessage(context.db, accountId, id) : null,
    isId ? locateAll(context.db, accountId, [id]) : [],
  ])
  if (!message) refuse('message_not_found')
  return { account, message, located }
}

/** Refuses a message of which it is not known where the provider has it. */
async function refuseUnlocated(
  context: RequestContext,
  account: AccountRow,
  message: FullRow,
): Promise<never> {
  if (message.is_renumbered) refuse('provider_unavailable')
  return refuseGone(context, account)
}

async function isInTrash(context: RequestContext, account: AccountRow, message: FullRow): Promise<boolean> {
  const trash = await findMailboxByRole(context.db, account.id, 'trash')
  return trash !== null && message.mailbox_ids.includes(trash.id)
}
