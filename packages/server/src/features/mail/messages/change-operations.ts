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
import { beginChange, changeMessages, type LocatedMessage, locateAll, removeMessages } from './change.ts'
import { changesNothing, planChange } from './change-rules.ts'
import { presentSummary } from './present.ts'
import { findMessage, type FullRow } from './store.ts'

const on = implement(messages).$context<RequestContext>()

/** The operations that change a message at its provider. */
export function messageChangeOperations({ connections }: { connections: Connections }) {
  const changingFor = ({ db, step }: RequestContext) => beginChange({ db, step, connections })
  return {
    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, message } = await requireChangeable(context, params)
      const changing = changingFor(context)
      const { mailboxId, addMailboxIds = [], removeMailboxIds = [] } = body
      const named = [...(mailboxId === undefined ? [] : [mailboxId]), ...addMailboxIds, ...removeMailboxIds]
      const plan = planChange(message, body, await requireMailboxes(context.db, account.id, named))
      if (!changesNothing(plan)) {
        const located = await requireLocated(context, account, message)
        const gone = await changeAtProvider(context, account, () =>
          changeMessages(changing, account, [located], plan),
        )
        if (gone.size > 0) await refuseGone(context, account)
      }
      return context.change(async unit => {
        const row = await findMessage(unit.sql, account.id, message.id)
        return row ? presentSummary(row) : refuse('message_not_found')
      })
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const { account, message } = await requireChangeable(context, params)
      const changing = changingFor(context)
      if (query.permanent) {
        const located = await requireLocated(context, account, message)
        const gone = await changeAtProvider(context, account, () =>
          removeMessages(changing, account, [located]),
        )
        if (gone.size > 0) await refuseGone(context, account)
      } else if (!(await isInTrash(context, account, message))) {
        const located = await requireLocated(context, account, message)
        const gone = await changeAtProvider(context, account, async () => {
          const trash = await requireMailboxByRole(changing, account, 'trash')
          const plan = { flags: null, labels: null, targetKey: trash.provider_key }
          return changeMessages(changing, account, [located], plan)
        })
        if (gone.size > 0) await refuseGone(context, account)
      }
      return context.change(async () => null)
    }),
  }
}

async function requireChangeable(context: RequestContext, params: { accountId: string; messageId: string }) {
  const account = await requireAccount(context, params.accountId)
  const message = isUuid(params.messageId)
    ? await findMessage(context.db, account.id, params.messageId.toLowerCase())
    : null
  if (!message) refuse('message_not_found')
  requireConnectable(account)
  return { account, message }
}

/** Refuses a message while it is not known where the provider has it. */
async function requireLocated(
  context: RequestContext,
  account: AccountRow,
  message: FullRow,
): Promise<LocatedMessage> {
  const [located] = await locateAll(context.db, account.id, [message.id])
  if (located) return located
  if (message.is_renumbered) refuse('provider_unavailable')
  return refuseGone(context, account)
}

async function isInTrash(context: RequestContext, account: AccountRow, message: FullRow): Promise<boolean> {
  const trash = await findMailboxByRole(context.db, account.id, 'trash')
  return trash !== null && message.mailbox_ids.includes(trash.id)
}
