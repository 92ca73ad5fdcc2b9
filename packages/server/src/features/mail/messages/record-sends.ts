import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/**
 * Lets copies of messages that are sent be known as such, until the account is purged: an insert for the statement that
 * accepts them.
 * @param sends rows of the outbox
 */
export function insertingSends(sends: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into sent_message (account_id, internet_message_id, outbox_id, reference)
    select account_id, internet_message_id, id, reference from ${sends}
    on conflict do nothing`
}

/** Forgets messages that are not sent after all, in the transaction that accepted them. */
export async function removeSends(
  unit: UnitOfWork,
  accountId: string,
  outboxIds: readonly string[],
): Promise<void> {
  await sql`
    delete from sent_message where account_id = ${accountId} and outbox_id = any(${[...outboxIds]}::uuid[])
  `.execute(unit.sql)
}

/**
 * Links messages to the sends that they are copies of. Only outbound ones are: what comes from outside may have any
 * Message-ID. @returns the ids of those that changed
 */
export async function linkSends(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    with next as (
      select message.id, sent.outbox_id, sent.reference
      from message left join sent_message as sent
        on sent.account_id = message.account_id and sent.internet_message_id = message.internet_message_id
        and message.direction = 'outbound'
      where message.account_id = ${accountId} and message.id = any(${[...ids]}::uuid[])
    )
    update message set outbox_id = next.outbox_id, reference = next.reference
    from next where message.id = next.id and message.outbox_id is distinct from next.outbox_id
    returning message.id
  `.execute(unit.sql)
  return rows.map(({ id }) => id)
}

/** A new message with the Message-IDs that it refers to, oldest first. */
export interface Referring {
  id: string
  references: readonly string[]
}

/** Notes which send each inbound message answers: of those that it refers to, the last. */
export async function linkAnswers(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  messages: readonly Referring[],
): Promise<void> {
  const rows = messages.flatMap(({ id, references }) =>
    references.map((reference, place) => ({ id, reference, place })),
  )
  if (rows.length === 0) return
  await sql`
    with answered as (
      select distinct on (referring.id) referring.id, sent.outbox_id
      from json_to_recordset(${JSON.stringify(rows)}::json) as referring (id uuid, reference text, place int)
      join sent_message as sent
        on sent.account_id = ${accountId} and sent.internet_message_id = referring.reference
      order by referring.id, referring.place desc
    )
    update message set answered_outbox_id = answered.outbox_id
    from answered where message.id = answered.id and message.direction = 'inbound'
  `.execute(unit.sql)
}
