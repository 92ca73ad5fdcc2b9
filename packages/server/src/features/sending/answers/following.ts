import { sql } from 'kysely'
import type { EventSubscription } from '../../../events/follow.ts'
import { mayBeReport } from './rules.ts'

/**
 * Records the messages that may answer a send, for accounts that have sent: messages that refer to a send, and possible
 * reports. They are only listed here and read later, so the provider never holds this up.
 */
export const answersFollowing: EventSubscription<'message.created'> = {
  name: 'answers',
  types: ['message.created'],
  async handle(unit, events) {
    const inbound = events.flatMap(({ data: { message } }) =>
      message.direction === 'inbound' && !message.isDraft ? [message] : [],
    )
    if (inbound.length === 0) return
    const reports = inbound.filter(mayBeReport)
    await sql`
      insert into pending_answer (message_id, tenant_id, account_id)
      select message.id, message.tenant_id, message.account_id from message
      where message.id = any(${inbound.map(({ id }) => id)}::uuid[]) and message.tenant_id = ${unit.tenantId}
        and message.classification is null
        and (message.answered_outbox_id is not null or (
          (message.may_be_report or message.id = any(${reports.map(({ id }) => id)}::uuid[]))
          and exists (select from sent_message where sent_message.account_id = message.account_id)
        ))
      order by message.id
      on conflict do nothing
    `.execute(unit.sql)
  },
}
