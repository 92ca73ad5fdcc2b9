import { implement } from '@orpc/server'
import { mailboxes } from '@waxwing/contract/mail/mailboxes.ts'
import type { Connections } from '../../../connections/connections.ts'
import { isUuid } from '../../../kit/ids.ts'
import type { ChangingProvider } from '../../../providers/changing.ts'
import { requireAccount, requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import { reachedAs } from '../../accounts/accounts/rules.ts'
import type { RequestContext } from '../../context.ts'
import { refuse } from '../../refuse.ts'
import { askForPass, changeAtProvider } from '../at-provider.ts'
import { lockMailAccount } from '../messages/record-account.ts'
import { presentMailbox } from './present.ts'
import { recordCreatedMailbox, recordDeletedMailbox, recordRenamedMailboxes } from './record-changes.ts'
import { requireLevel, requireParent } from './change-rules.ts'
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
      requireConnectable(account)
      const parentKey = parentId === undefined ? null : parents.get(parentId)!.provider_key

      const created = await change(context, account, provider =>
        provider.createMailbox({ parentKey, name, mayExist: context.attempt.isResumed }),
      )
      return context.change(async unit => {
        const id = await recordCreatedMailbox(unit, await lockMailAccount(unit, account.id), created)
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
        const ids = new Map(all.map(row => [row.provider_key, row.id]))
        await context.step(async unit => {
          const known = renamed.flatMap(({ formerKey, mailbox: remote }) => {
            const mailboxId = ids.get(formerKey)
            return mailboxId === undefined ? [] : [{ mailboxId, formerKey, mailbox: remote }]
          })
          await recordRenamedMailboxes(unit, await lockMailAccount(unit, account.id), known)
        })
      }
      return context.change(async unit =>
        presentMailbox((await requireMailboxes(unit.sql, account.id, [mailbox.id])).get(mailbox.id)!),
      )
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { account, mailbox } = await requireCustom(context, params)
      requireConnectable(account)
      await change(context, account, provider => provider.deleteMailbox(mailbox.provider_key))
      return context.change(async unit => {
        await recordDeletedMailbox(unit, await lockMailAccount(unit, account.id), mailbox.id)
        // Its messages leave the index with the next pass.
        await askForPass(unit, account)
        return null
      })
    }),
  }
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
