import { type RawBuilder, sql } from 'kysely'
import { plainArray } from '../../../database/plain-array.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { announceUpdated } from './announce.ts'
import type { MailAccount } from './rules.ts'

/**
 * Lets copies of messages that are sent be known as such, until the account is purged: an insert for the statement that
 * accepts them.
 * @param sends rows of the outbox
 */
export function insertingSends(sends: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into sent_message (account_id, internet_message_id, outbox_id, reference, list_id)
    select account_id, internet_message_id, id, reference, list_id from ${sends}
    on conflict do nothing`
}

/** Forgets messages that are not sent after all, in the transaction that accepted them. */
export async function removeSends(
  unit: UnitOfWork,
  sends: ReadonlyArray<{ id: string; accountId: string; internetMessageId: string }>,
): Promise<void> {
  await sql`
    delete from sent_message as sent using unnest(
      ${sends.map(({ id }) => id)}::uuid[], ${sends.map(({ accountId }) => accountId)}::uuid[],
      ${sends.map(({ internetMessageId }) => internetMessageId)}::text[]
    ) as given (id, account_id, internet_message_id)
    where sent.account_id = given.account_id and sent.internet_message_id = given.internet_message_id
      and sent.outbox_id = given.id
  `.execute(unit.sql)
}

/**
 * Links messages to the sends that they are copies of, by the key that the provider reported for the copy, else by
 * their Message-ID. Only outbound messages are linked: mail from outside may have any Message-ID. If the provider has
 * replaced the Message-ID of a copy, answers to it are recognised by the new one from then on. @returns the ids of the
 * changed messages
 */
export async function linkSends(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const { rows } = await linkingSends(accountId, ids).execute(unit.sql)
  return rows.map(({ id }) => id)
}

/** The statement of `linkSends`. Its rows are the messages that changed. */
export function linkingSends(accountId: string, ids: readonly string[]): RawBuilder<{ id: string }> {
  return sql`
    with next as (
      select message.id, sent.outbox_id, sent.reference
      from message left join lateral (
        select outbox_id, reference from (
          select outbox_id, reference, 1 as place from sent_message
          where account_id = ${accountId} and remote_id = message.remote_id
          union all
          select outbox_id, reference, 2 from sent_message
          where account_id = ${accountId} and internet_message_id = message.internet_message_id
        ) as known order by place limit 1
      ) as sent on message.direction = 'outbound'
      where message.account_id = ${accountId} and message.id = any(${plainArray(ids)}::uuid[])
    ), renamed as (
      insert into sent_message (account_id, internet_message_id, outbox_id, reference, list_id)
      select ${accountId}::uuid, message.internet_message_id, sent.outbox_id, sent.reference, sent.list_id
      from message join sent_message as sent on sent.account_id = ${accountId} and sent.remote_id = message.remote_id
      where message.account_id = ${accountId} and message.id = any(${plainArray(ids)}::uuid[])
        and message.direction = 'outbound' and message.internet_message_id <> sent.internet_message_id
      on conflict do nothing
    )
    update message set outbox_id = next.outbox_id, reference = next.reference
    from next where message.id = next.id and message.outbox_id is distinct from next.outbox_id
    returning message.id`
}

/**
 * Notes the key of the copy that the provider filed of a send, and links the copy if the index has it.
 * @returns the Message-ID that the copy has; null if the index does not have the copy yet
 */
export async function linkFiledCopy(
  unit: UnitOfWork,
  account: MailAccount,
  { internetMessageId, key }: { internetMessageId: string; key: string },
): Promise<string | null> {
  await sql`
    update sent_message set remote_id = ${key}
    where account_id = ${account.id} and internet_message_id = ${internetMessageId} and remote_id is distinct from ${key}
  `.execute(unit.sql)
  const { rows } = await sql<{ id: string; internet_message_id: string | null }>`
    select id, internet_message_id from message where account_id = ${account.id} and remote_id = ${key}
  `.execute(unit.sql)
  const [copy] = rows
  if (!copy) return null
  const linked = await linkSends(unit, account.id, [copy.id])
  if (account.isInitialized)
    await announceUpdated(unit, account, new Map(linked.map(id => [id, ['outboxId', 'reference']])))
  return copy.internet_message_id ?? internetMessageId
}

/** A new message with the Message-IDs that it refers to, oldest first. */
export interface Referring {
  id: string
  references: readonly string[]
  mayBeReport: boolean
  mayBeInvitation: boolean
}

/** Records the signs by which inbound messages are worth reading: the send that one refers to, a report, an invitation. */
export async function noteAnswers(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  messages: readonly Referring[],
): Promise<void> {
  await linkAnswers(unit, accountId, messages)
  const signed = messages.filter(({ mayBeReport, mayBeInvitation }) => mayBeReport || mayBeInvitation)
  if (signed.length === 0) return
  await sql`
    update message
    set may_be_report = nullif(signed.is_report, false), may_be_invitation = nullif(signed.is_invitation, false)
    from unnest(
      ${signed.map(({ id }) => id)}::uuid[], ${signed.map(({ mayBeReport }) => mayBeReport)}::boolean[],
      ${signed.map(({ mayBeInvitation }) => mayBeInvitation)}::boolean[]
    ) as signed (id, is_report, is_invitation)
    where account_id = ${accountId} and message.id = signed.id and direction = 'inbound'
  `.execute(unit.sql)
}

/** Records which send each inbound message answers: the last of the sends that it refers to. */
async function linkAnswers(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  messages: readonly Referring[],
): Promise<void> {
  const rows = messages.flatMap(({ id, references }) =>
    references.map((reference, place) => ({ id, reference, place })),
  )
  if (rows.length === 0) return
  const linking = sql`
    with answered as (
      select distinct on (referring.id) referring.id, sent.outbox_id
      from json_to_recordset(${JSON.stringify(rows)}::json) as referring (id uuid, reference text, place int)
      join sent_message as sent
        on sent.account_id = ${accountId} and sent.internet_message_id = referring.reference
      order by referring.id, referring.place desc
    )
    update message set answered_outbox_id = answered.outbox_id
    from answered where message.id = answered.id and message.direction = 'inbound'`
  await executeUnawaited(unit.sql, linking)
}
