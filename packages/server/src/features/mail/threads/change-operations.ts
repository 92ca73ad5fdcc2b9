import { implement } from '@orpc/server'
import { threads } from '@waxwing/contract/mail/threads.ts'
import type { Connections } from '../../../connections/connections.ts'
import { requireAccount, requireConnectable } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { changeAtProvider, wakeSync } from '../at-provider.ts'
import { requireMailboxByRole, requireNamed } from '../mailboxes/access.ts'
import { listProviderMailboxes, type ProviderMailbox } from '../mailboxes/store.ts'
import {
  beginChange,
  changeMessages,
  type Changing,
  finishChange,
  locateAll,
  recordSoFar,
} from '../messages/change.ts'
import { isMovedTo, planChange, planTrashing } from '../messages/change-rules.ts'
import { findThread, listMembers, type ThreadMember } from './store.ts'

const on = implement(threads).$context<RequestContext>()

/** The operations that change all messages of a thread at their provider. */
export function threadChangeOperations({ connections }: { connections: Connections }) {
  return {
    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { account, members } = await requireMembers(context, params)
      const { isRead, mailboxId } = body
      const mailboxes = await requireNamed(context, account.id, mailboxId === undefined ? [] : [mailboxId])
      requireConnectable(account)
      const unlike = isRead === undefined ? [] : members.filter(member => member.is_read !== isRead)
      const marked = planChange({ mailbox_ids: [] }, { isRead }, mailboxes)
      const target = mailboxId === undefined ? null : mailboxes.get(mailboxId)!
      const elsewhere = target
        ? members.filter(({ mailbox_ids }) => !isMovedTo(mailbox_ids, target, mailboxes))
        : []
      const moved = planChange({ mailbox_ids: [] }, { mailboxId }, mailboxes)

      const changing = beginChange(context, connections, account)
      const { locatedOf, left } = await locateMembers(changing, [...unlike, ...elsewhere])
      // Messages that the provider no longer has are gone with the next sync.
      await changeMessages(changing, locatedOf(unlike), marked)
      await changeMessages(changing, locatedOf(elsewhere), moved)
      await refuseLeft(changing, left)
      return finishChange(
        context,
        changing,
        async unit => (await findThread(unit.sql, account.id, params.threadId)) ?? refuse('thread_not_found'),
      )
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { account, members } = await requireMembers(context, params)
      requireConnectable(account)
      const changing = beginChange(context, connections, account)
      const trash = await changeAtProvider(context, account, () =>
        requireMailboxByRole(changing, account, 'trash'),
      )
      const trashed = planTrashing(trash, await listProviderMailboxes(context.db, account.id))
      const elsewhere = members.filter(({ mailbox_ids }) => !isTrashed(mailbox_ids, trash))
      const { locatedOf, left } = await locateMembers(changing, elsewhere)
      await changeMessages(changing, locatedOf(elsewhere), [trashed])
      await refuseLeft(changing, left)
      return finishChange(context, changing, async () => null)
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

/**
 * Finds the locations of a thread's messages at the provider.
 * @returns the located messages, and how many cannot be changed because their location is unknown
 */
async function locateMembers({ db, account }: Changing, members: readonly ThreadMember[]) {
  const ids = [...new Set(members.map(({ id }) => id))]
  const located = new Map((await locateAll(db, account.id, ids)).map(message => [message.id, message]))
  return {
    locatedOf: (some: readonly ThreadMember[]) => some.flatMap(({ id }) => located.get(id) ?? []),
    left: ids.length - located.size,
  }
}

/** Refuses if messages of the thread could not be changed; repeating the request changes them. */
async function refuseLeft(changing: Changing, left: number): Promise<void> {
  if (left === 0) return
  await recordSoFar(changing)
  await wakeSync(changing, changing.account)
  refuse('provider_unavailable', undefined, {
    message: `${left} of the messages are being looked for at the provider. Repeat the request to change them.`,
  })
}
