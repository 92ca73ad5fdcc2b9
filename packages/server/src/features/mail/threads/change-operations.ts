import { implement } from '@orpc/server'
import { threads } from '@waxwing/contract/mail/threads.ts'
import type { Connections } from '../../../connections/connections.ts'
import { requireAccount, requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { changeAtProvider, wakeSync } from '../at-provider.ts'
import { requireMailboxByRole, requireNamed } from '../mailboxes/access.ts'
import { listProviderMailboxes, type ProviderMailbox } from '../mailboxes/store.ts'
import { beginChange, type ChangeContext, changeMessages, locateAll } from '../messages/change.ts'
import { changesNothing, isMovedTo, planChange, planTrashing } from '../messages/change-rules.ts'
import { findThread, listMembers, type ThreadMember } from './store.ts'

const on = implement(threads).$context<RequestContext>()

/** The operations that change all messages of a thread at their provider. */
export function threadChangeOperations({ connections }: { connections: Connections }) {
  const changingFor = ({ db, step }: RequestContext) => beginChange({ db, step, connections })
  return {
    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, members } = await requireMembers(context, params)
      const { isRead, mailboxId } = body
      const mailboxes = await requireNamed(context, account.id, mailboxId === undefined ? [] : [mailboxId])
      requireConnectable(account)
      const changing = changingFor(context)
      await changeAtProvider(context, account, async () => {
        const unlike = isRead === undefined ? [] : members.filter(member => member.is_read !== isRead)
        const marked = planChange({ mailbox_ids: [] }, { isRead }, mailboxes)
        const target = mailboxId === undefined ? null : mailboxes.get(mailboxId)!
        const elsewhere = target
          ? members.filter(({ mailbox_ids }) => !isMovedTo(mailbox_ids, target, mailboxes))
          : []
        const moved = planChange({ mailbox_ids: [] }, { mailboxId }, mailboxes)
        const left = [
          ...(await changeMembers(changing, account, unlike, marked)),
          ...(await changeMembers(changing, account, elsewhere, moved)),
        ]
        await refuseLeft(context, account, left)
      })
      return context.change(
        async unit => (await findThread(unit.sql, account.id, params.threadId)) ?? refuse('thread_not_found'),
      )
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { account, members } = await requireMembers(context, params)
      requireConnectable(account)
      const changing = changingFor(context)
      await changeAtProvider(context, account, async () => {
        const trash = await requireMailboxByRole(changing, account, 'trash')
        const plan = planTrashing(trash, await listProviderMailboxes(context.db, account.id))
        const elsewhere = members.filter(({ mailbox_ids }) => !isTrashed(mailbox_ids, trash))
        const left = await changeMembers(changing, account, elsewhere, plan)
        await refuseLeft(context, account, left)
      })
      return context.change(async () => null)
    }),
  }
}

async function requireMembers(context: RequestContext, params: { accountId: string; threadId: string }) {
  const account = await requireAccount(context, params.accountId)
  const members = await listMembers(context.db, account.id, params.threadId)
  if (members.length === 0) refuse('thread_not_found')
  return { account, members }
}

/** With labels, a message in the trash may have others. */
function isTrashed(mailboxIds: readonly string[], { id, kind }: ProviderMailbox): boolean {
  return mailboxIds.includes(id) && (kind === 'label' || mailboxIds.length === 1)
}

/** Refuses if messages of the thread could not be changed; repeating the request changes them. */
async function refuseLeft(
  context: RequestContext,
  account: AccountRow,
  left: readonly ThreadMember[],
): Promise<void> {
  if (left.length === 0) return
  await wakeSync(context, account)
  refuse('provider_unavailable', undefined, {
    message: `${left.length} of the messages are being looked for at the provider. Repeat the request to change them.`,
  })
}

/** @returns members that could not be changed because it is not known where the provider has them */
async function changeMembers(
  context: ChangeContext,
  account: AccountRow,
  members: readonly ThreadMember[],
  plan: Parameters<typeof changeMessages>[3],
): Promise<ThreadMember[]> {
  if (members.length === 0 || changesNothing(plan)) return []
  const located = await locateAll(
    context.db,
    account.id,
    members.map(({ id }) => id),
  )
  // Messages that the provider no longer has are gone with the next sync.
  await changeMessages(context, account, located, plan)
  const found = new Set(located.map(({ id }) => id))
  return members.filter(({ id }) => !found.has(id))
}
