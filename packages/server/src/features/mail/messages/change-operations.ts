import { implement } from '@orpc/server'
import { messages } from '@waxwing/contract/mail/messages.ts'
import type { Connections } from '../../../connections/connections.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { ReachedRow } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { changeAtProvider, refuseGone } from '../at-provider.ts'
import { requireMailboxByRole, requireNamed } from '../mailboxes/access.ts'
import { findMailboxByRole, listProviderMailboxes, type ProviderMailbox } from '../mailboxes/store.ts'
import { type ChangeableMessage, requireChangeable } from './access.ts'
import {
  beginChange,
  changeMessages,
  type Changing,
  finishChange,
  type ProviderChange,
  recordSoFar,
} from './change.ts'
import { planChange, planTrashing } from './change-rules.ts'
import { presentSummary } from './present.ts'
import { findMessage } from './store.ts'

const NO_MAILBOXES: ReadonlyMap<string, ProviderMailbox> = new Map()

const on = implement(messages).$context<RequestContext>()

/** The operations that change a message at its provider. */
export function messageChangeOperations({ connections }: { connections: Connections }) {
  return {
    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, message, located } = await requireChangeable(context, params)
      const { mailboxId, addMailboxIds = [], removeMailboxIds = [] } = body
      const named = [...(mailboxId === undefined ? [] : [mailboxId]), ...addMailboxIds, ...removeMailboxIds]
      const mailboxes = named.length > 0 ? await requireNamed(context, account.id, named) : NO_MAILBOXES
      const plan = planChange(message, body, mailboxes)
      requireConnectable(account)
      const changing = beginChange(context, connections, account)
      if (plan.length > 0) {
        const at = located ?? (await refuseUnlocated(context, account, message))
        const gone = await changeMessages(changing, [at], plan)
        if (gone.size > 0) {
          await recordSoFar(changing)
          await refuseGone(context, account)
        }
      }
      return finishChange(
        context,
        changing,
        async (unit, recorded) => {
          const row = recorded.get(message.id) ?? (await findMessage(unit.sql, account.id, message.id))
          return row ? presentSummary(row) : refuse('message_not_found')
        },
        { mayAssume: true },
      )
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const { account, message, located } = await requireChangeable(context, params)
      requireConnectable(account)
      const changing = beginChange(context, connections, account)
      if (query.permanent || !(await isInTrash(context, account, message))) {
        const at = located ?? (await refuseUnlocated(context, account, message))
        const change = query.permanent ? ({ kind: 'removal' } as const) : await requireTrashing(changing)
        const gone = await changeMessages(changing, [at], [change])
        if (gone.size > 0) await refuseGone(context, account)
      }
      return finishChange(context, changing, async () => null)
    }),
  }
}

/** Refuses a message whose location at the provider is unknown. */
async function refuseUnlocated(
  context: RequestContext,
  account: ReachedRow,
  message: ChangeableMessage,
): Promise<never> {
  if (message.is_renumbered) refuse('provider_unavailable')
  return refuseGone(context, account)
}

/** The change that puts messages into the trash, which is created if there is none. */
async function requireTrashing(changing: Changing): Promise<ProviderChange> {
  const { db, account } = changing
  const trash = await changeAtProvider(changing, account, () =>
    requireMailboxByRole(changing, account, 'trash'),
  )
  return planTrashing(trash, await listProviderMailboxes(db, account.id))
}

async function isInTrash(
  context: RequestContext,
  account: ReachedRow,
  message: ChangeableMessage,
): Promise<boolean> {
  const trash = await findMailboxByRole(context.db, account.id, 'trash')
  return trash !== null && message.mailbox_ids.includes(trash.id)
}
