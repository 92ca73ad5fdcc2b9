import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { isAfter, type NewestFirst } from '../../../database/page.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { JobKind } from '../../../jobs/enqueue.ts'
import { isUuid } from '../../../kit/ids.ts'
import { announceUpdated } from './announce.ts'
import { linkSends } from './record-sends.ts'
import { directionOf, type MailAccount } from './rules.ts'

/**
 * The job that makes the directions of an account's messages right. Enqueue it in the transaction that changes the
 * basis of the directions: the identities of the account, or which of its mailboxes holds sent mail. That transaction
 * locks the mail half.
 */
export const directionsJob: JobKind<{ accountId: string }> = {
  name: 'record_directions',
  parse(stored) {
    const { accountId } = Object(stored) as { accountId?: unknown }
    if (typeof accountId !== 'string' || !isUuid(accountId)) throw new Error('The job names no account')
    return { accountId }
  },
}

interface DirectedRow {
  id: string
  received_at: Date
  direction: 'inbound' | 'outbound'
  from_address: string | null
  is_sent: boolean
}

/**
 * Sets the directions of up to `limit` messages, the newest first, as `directionOf` decides. The account must be
 * locked, so that its messages are recorded nowhere else meanwhile.
 * @returns where to continue; null at the end
 */
export async function recordDirections(
  unit: UnitOfWork,
  account: Pick<MailAccount, 'id' | 'addresses' | 'isInitialized'>,
  { after, limit }: { after: NewestFirst | null; limit: number },
): Promise<NewestFirst | null> {
  const { rows } = await sql<DirectedRow>`
    select id, received_at, direction, "from" ->> 'address' as from_address,
      mailbox_ids && array(select id from mailbox where account_id = ${account.id} and role = 'sent') as is_sent
    from message
    where account_id = ${account.id} and ${isAfter(after, { time: 'message.received_at', id: 'message.id' })}
    order by received_at desc, id desc limit ${limit}
  `.execute(unit.sql)
  const turned = rows.filter(row => row.direction !== rightDirection(account, row)).map(({ id }) => id)
  if (turned.length > 0) {
    await sql`
      update message set direction = case direction when 'inbound' then 'outbound' else 'inbound' end
      where id = any(${turned}::uuid[])
    `.execute(unit.sql)
    const linked = new Set(await linkSends(unit, account.id, turned))
    const changesOf = (id: string): MessageChange[] =>
      linked.has(id) ? ['direction', 'outboxId', 'reference'] : ['direction']
    if (account.isInitialized)
      await announceUpdated(unit, account, new Map(turned.map(id => [id, changesOf(id)])))
  }
  const last = rows.at(-1)
  return last && rows.length === limit ? { time: last.received_at.toISOString(), id: last.id } : null
}

function rightDirection(account: Pick<MailAccount, 'addresses'>, row: DirectedRow) {
  const from = row.from_address === null ? null : { name: null, address: row.from_address }
  return directionOf(account, row.is_sent ? [{ role: 'sent' }] : [], from)
}
