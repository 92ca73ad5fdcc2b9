import type { Address } from '@waxwing/contract/shapes.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { NamedSends } from './report.ts'

/** Facts of the send that an answer is about. */
export interface SendFacts {
  outboxId: string
  accountId: string
  /** The address that it is from. */
  sender: string
  reference: string | null
  /** The copy in the index; null while there is none. */
  messageId: string | null
  /** The suppression list that it named. */
  listId: string | null
  /** Its recipients, by their address as addresses are compared. */
  recipients: ReadonlyMap<string, string>
}

interface SendRow extends Omit<SendFacts, 'recipients'> {
  recipients: Address[]
}

/**
 * Sends of an account that an answer names, the surest first: by the id of the entry, by a Message-ID, and last the
 * send that the message replies to. After the entry is gone, its Message-ID is still stored, and the recipients come
 * from the copy in the index.
 */
export async function findNamedSends(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  { messageIds, outboxIds }: NamedSends,
  answeredOutboxId: string | null,
): Promise<SendFacts[]> {
  const { rows } = await sql<{ id: string }>`
    select outbox_id as id from (
      select id as outbox_id, place from unnest(${[...outboxIds]}::uuid[]) with ordinality as named (id, place)
      union all
      select sent.outbox_id, 1000 + place
      from unnest(${[...messageIds]}::text[]) with ordinality as named (id, place)
      join sent_message as sent on sent.account_id = ${accountId} and sent.internet_message_id = named.id
      union all
      select ${answeredOutboxId}::uuid, 2000 where ${answeredOutboxId}::uuid is not null
    ) as named group by outbox_id order by min(place)
  `.execute(unit.sql)
  const facts = await findSends(
    unit,
    accountId,
    rows.map(({ id }) => id),
  )
  return rows.flatMap(({ id }) => facts.get(id) ?? [])
}

/** Sends of an account, by the id of their entry. Invitations are left out. */
export async function findSends(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string | readonly string[],
  outboxIds: readonly string[],
): Promise<Map<string, SendFacts>> {
  if (outboxIds.length === 0) return new Map()
  const accountIds = typeof accountId === 'string' ? [accountId] : accountId
  const { rows } = await sql<SendRow>`
    select named.id as "outboxId", coalesce(outbox.account_id, copy.account_id) as "accountId",
      coalesce(outbox."from", copy."from") ->> 'address' as sender,
      coalesce(outbox.reference, copy.reference) as reference, copy.id as "messageId", coalesce(outbox.list_id, sent.list_id) as "listId",
      coalesce(outbox."to" || outbox.cc || outbox.bcc, copy."to" || copy.cc || copy.bcc) as recipients
    from unnest(${[...new Set(outboxIds)]}::uuid[]) as named (id)
    left join outbox on outbox.id = named.id and outbox.account_id = any(${[...accountIds]}::uuid[])
      and outbox.origin = 'send'
    left join lateral (
      select message.* from message
      where message.outbox_id = named.id and message.account_id = any(${[...accountIds]}::uuid[])
      order by exists (
        select from mailbox where mailbox.id = any(message.mailbox_ids) and mailbox.role = 'sent'
      ) desc, message.id
      limit 1
    ) as copy on true
    left join sent_message as sent
      on sent.account_id = copy.account_id and sent.internet_message_id = copy.internet_message_id
    where outbox.id is not null or copy.id is not null
  `.execute(unit.sql)
  return new Map(
    rows.map(row => [
      row.outboxId,
      {
        ...row,
        recipients: new Map(row.recipients.map(({ address }) => [comparedAddress(address), address])),
      },
    ]),
  )
}
