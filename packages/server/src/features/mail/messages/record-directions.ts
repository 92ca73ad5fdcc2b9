import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { announceUpdated } from './announce.ts'
import type { MailAccount } from './rules.ts'

/** How far a mailbox was gone through, in the order of its listing. */
export interface DirectionsPosition {
  received_at: Date
  message_id: string
}

/**
 * Sets the direction of up to `limit` messages of a mailbox that becomes one of sent mail, or is that no more, as
 * `directionOf` would. @returns where to go on; null at the end
 */
export async function recordDirections(
  unit: UnitOfWork,
  account: MailAccount,
  mailbox: { id: string; isSent: boolean },
  { after, limit }: { after: DirectionsPosition | null; limit: number },
): Promise<DirectionsPosition | null> {
  const { rows } = await sql<DirectionsPosition & { is_changed: boolean }>`
    with held as (
      select received_at, message_id from message_mailbox
      where mailbox_id = ${mailbox.id}
        and (${after === null}
          or (received_at, message_id) > (${after?.received_at ?? null}, ${after?.message_id ?? null}))
      order by received_at, message_id limit ${limit}
    ), next as (
      select message.id, case when ${mailbox.isSent}
        or lower(message."from" ->> 'address') = any(${[...account.addresses]}::text[])
        or exists (
          select from message_mailbox as other join mailbox on mailbox.id = other.mailbox_id
          where other.message_id = message.id and mailbox.id <> ${mailbox.id} and mailbox.role = 'sent'
        ) then 'outbound' else 'inbound' end as direction
      from held join message on message.id = held.message_id
    ), changed as (
      update message set direction = next.direction from next
      where message.id = next.id and message.direction <> next.direction returning message.id
    )
    select held.*, changed.id is not null as is_changed
    from held left join changed on changed.id = held.message_id order by received_at, message_id
  `.execute(unit.sql)
  if (account.isInitialized) {
    const changed = rows.filter(row => row.is_changed)
    await announceUpdated(unit, account, new Map(changed.map(row => [row.message_id, ['direction']])))
  }
  return rows.length < limit ? null : rows.at(-1)!
}
