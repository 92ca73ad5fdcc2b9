import { sql } from 'kysely'
import type { EventSubscription } from '../../../events/follow.ts'
import { RECEIVED_DAYS_MAX } from './limits.ts'

/** Whether invitations by mail enter calendars by themselves: of known organizers, of all, or none. */
export type InvitationsMode = 'known' | 'all' | 'off'

/**
 * Lists messages that may be invitations, of accounts whose calendars come from a server of their own. They are read later, so
 * neither the mail server nor that of the calendars holds this up. Old mail that is put back into its mailbox is left out: its
 * events may have been deleted since.
 */
export function invitationsFollowing(mode: InvitationsMode): EventSubscription<'message.created'> {
  return {
    name: 'invitations',
    types: ['message.created'],
    isWanted: tenantId =>
      mode === 'off'
        ? sql<boolean>`false`
        : sql<boolean>`exists (select from account where tenant_id = ${tenantId} and ${hasServer})`,
    async handle(unit, events) {
      const ids = events.flatMap(({ data: { message } }) =>
        message.direction === 'inbound' && !message.isDraft ? [message.id] : [],
      )
      if (ids.length === 0) return
      await sql`
        insert into pending_invitation (message_id, tenant_id, account_id)
        select message.id, message.tenant_id, message.account_id
        from message join account on account.id = message.account_id and ${hasServer}
        where message.id = any(${ids}::uuid[]) and message.tenant_id = ${unit.tenantId} and message.may_be_invitation
          and message.received_at > now() - make_interval(days => ${RECEIVED_DAYS_MAX})
        order by message.id
        on conflict do nothing
      `.execute(unit.sql)
    },
  }
}

/** Whether an account names a server for its calendars. */
const hasServer = sql<boolean>`(imap #>> '{dav,calendarUrl}' is not null and deleted_at is null)`
