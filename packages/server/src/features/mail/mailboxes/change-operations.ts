import { implement } from '@orpc/server'
import { mailboxes } from '@waxwing/contract/mail/mailboxes.ts'
import type { Connections } from '../../../connections/connections.ts'
import { isUuid } from '../../../kit/ids.ts'
import type { ChangingProvider, RenamedMailbox } from '../../../providers/changing.ts'
import { requireAccount, requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { askForPass, changeAtProvider } from '../at-provider.ts'
import { lockMailAccount } from '../messages/record-account.ts'
import { presentMailbox } from './present.ts'
import {
  type MailboxRenaming,
  recordCreatedMailbox,
  recordDeletedMailbox,
  recordRenamedMailboxes,
} from './record-changes.ts'
import { requireHolding, requireLevel, requireParent } from './change-rules.ts'
import { listProviderMailboxes, type ProviderMailbox, requireMailboxes } from './store.ts'

const on = implement(mailboxes).$context<RequestContext>()

/** The operations that change the mailboxes of an account at its provider. */
export function mailboxChangeOperations({ connections }: { connections: Connections }) {
  /** Changes mailboxes in one call to the provider, which is never repeated blindly. */
  const change = <T>(
    context: RequestContext,
    account: AccountRow,
    work: (provider: ChangingProvider) => Promise<T>,
  ) =>
    changeAtProvider(context, account, () =>
      connections.use(reachedAs(account), 'changing', work, { isRepeatable: false }),
    )

  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const account = await requireAccount(context, params.accountId)
      const name = requireLevel(account.provider, body.name)
      const { parentId } = body
      const parents = await requireMailboxes(context.db, account.id, parentId === undefined ? [] : [parentId])
      const parent = parentId === undefined ? null : parents.get(parentId)!
      if (parent) requireHolding(parent)
      requireConnectable(account)
      const parentKey = parent?.provider_key ?? null

      const created = await change(context, account, provider =>
        provider.createMailbox({ parentKey, name, mayExist: context.attempt.isResumed }),
      )
      return context.change(async unit => {
        const id = await recordCreatedMailbox(unit, await lockMailAccount(unit, account.id), created)
        // Labels whose names begin with the new one are below it now.
        if (created.kind === 'label') await askForPass(unit, account)
        return presentMailbox((await requireMailboxes(unit.sql, account.id, [id])).get(id)!)
      })
    }),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, mailbox } = await requireCustom(context, params)
      const name = body.name === undefined ? mailbox.name : requireLevel(account.provider, body.name)
      const all = await listProviderMailboxes(context.db, account.id)
      const parent = requireParent(mailbox, body.parentId, all)
      requireConnectable(account)
      const parentId = parent === undefined ? mailbox.parent_id : (parent?.id ?? null)

      if (name !== mailbox.name || parentId !== mailbox.parent_id) {
        const to = {
          ...(name !== mailbox.name && { name }),
          ...(parentId !== mailbox.parent_id && { parentKey: parent?.provider_key ?? null }),
        }
        const renamed = await change(context, account, provider =>
          provider.renameMailbox(mailbox.provider_key, to),
        )
        await context.step(async unit =>
          recordRenamedMailboxes(unit, await lockMailAccount(unit, account.id), renamingsOf(all, renamed)),
        )
      }
      return context.change(async unit =>
        presentMailbox((await requireMailboxes(unit.sql, account.id, [mailbox.id])).get(mailbox.id)!),
      )
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { account, mailbox } = await requireCustom(context, params)
      requireConnectable(account)
      const all = await listProviderMailboxes(context.db, account.id)
      const renamed = await change(context, account, provider => provider.deleteMailbox(mailbox.provider_key))
      return context.change(async unit => {
        const mailAccount = await lockMailAccount(unit, account.id)
        await recordDeletedMailbox(unit, mailAccount, mailbox.id)
        await recordRenamedMailboxes(unit, mailAccount, renamingsOf(all, renamed))
        // Its messages leave the index with the next pass.
        await askForPass(unit, account)
        return null
      })
    }),
  }
}

/** The provider's new names of mailboxes that the index has. */
function renamingsOf(all: readonly ProviderMailbox[], renamed: readonly RenamedMailbox[]): MailboxRenaming[] {
  const ids = new Map(all.map(row => [row.provider_key, row.id]))
  return renamed.flatMap(({ formerKey, mailbox }) => {
    const mailboxId = ids.get(formerKey)
    return mailboxId === undefined ? [] : [{ mailboxId, formerKey, mailbox }]
  })
}

/** The mailbox of the path, which must have no special role. */
async function requireCustom(
  context: RequestContext,
  params: { accountId: string; mailboxId: string },
): Promise<{ account: AccountRow; mailbox: ProviderMailbox }> {
  const account = await requireAccount(context, params.accountId)
  const id = params.mailboxId.toLowerCase()
  if (!isUuid(id)) refuse('unknown_mailbox', { ids: [] })
  const mailbox = (await requireMailboxes(context.db, account.id, [id])).get(id)!
  if (mailbox.role !== 'custom') refuse('mailbox_protected')
  return { account, mailbox }
}
