import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireAccount, isReachable } from '../../accounts/accounts/access.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import type { ReachedRow } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { MailboxRow } from '../mailboxes/present.ts'
import type { LocatedMessage } from './change.ts'
import { type LocationRow, located, locationColumns, toLocation } from './location.ts'
import { messageSummaryColumns, type SummaryRow } from './present.ts'
import type { MessageAsRead } from './record-changed-flags.ts'

/** A message of the index, as it is before it is changed. */
export interface ChangeableMessage {
  id: string
  mailbox_ids: string[]
  /** Its mailbox is being read again, so its location is not known yet. */
  is_renumbered: boolean
}

/** A message that is to be changed, its account, and its location at the provider, which is null while unknown. */
export interface Changeable {
  account: ReachedRow & Pick<AccountRow, 'status'>
  message: ChangeableMessage
  located: LocatedMessage | null
}

interface Row extends Pick<AccountRow, 'tenant_id' | 'provider' | 'stamp' | 'status'>, SummaryRow {
  is_initialized: boolean
  is_renumbered: boolean
  version: string
}

/** The mailbox of the location. */
interface LocatedRow extends LocationRow, Pick<MailboxRow, 'name' | 'path' | 'role' | 'kind'> {
  mailbox_id: string
  mailbox_version: string
}

/** Reads all of it by one statement. Refuses an account and a message that do not exist. */
export async function requireChangeable(
  context: RequestContext,
  params: { accountId: string; messageId: string },
): Promise<Changeable> {
  const [accountId, id] = [params.accountId.toLowerCase(), params.messageId.toLowerCase()]
  const isId = isReachable(context.credential, accountId) && isUuid(id)
  const account = { id: accountId, tenantId: context.tenantId }
  const found = isId ? await findChangeable(context.db, account, id) : null
  if (found) return found
  await requireAccount(context, accountId)
  return refuse('message_not_found')
}

function asReadOf(row: Row & LocatedRow): MessageAsRead | null {
  const { mailbox_id: id, name, path, role, kind } = row
  if (!row.is_initialized || row.mailbox_ids.length !== 1 || row.mailbox_ids[0] !== id) return null
  return {
    row,
    mailbox: { id, name, path, role, kind },
    versions: { message: row.version, mailbox: row.mailbox_version },
  }
}

export async function findChangeable(
  db: Db,
  account: { id: string; tenantId: string },
  id: string,
): Promise<Changeable | null> {
  const { rows } = await sql<Row & (LocatedRow | { source: null })>`
    select account.tenant_id, account.provider, account_half.stamp, account.status,
      account_half.initialized_at is not null as is_initialized, ${messageSummaryColumns}, message.xmin::text as version,
      coalesce(message.missing_look = 'infinity', false) as is_renumbered, location.*
    from account join account_half on account_half.account_id = account.id and account_half.kind = 'mail'
    join message on message.account_id = account.id
    left join lateral (
      select ${locationColumns}, mailbox.id as mailbox_id, mailbox.name, mailbox.path, mailbox.role, mailbox.kind,
        mailbox.xmin::text as mailbox_version
      from (
        select message.id, message.remote_id, message.internet_message_id, message.identity, message.subject, message.sent_at
      ) as message join ${located}
      -- If the message has several labels, any of its locations will do.
      order by mailbox.path desc limit 1
    ) as location on true
    where account.id = ${account.id} and account.tenant_id = ${account.tenantId} and account.deleted_at is null
      and message.id = ${id}
  `.execute(db)
  const [row] = rows
  if (!row) return null
  const { tenant_id, provider, stamp, status, mailbox_ids, is_renumbered } = row
  return {
    account: { id: account.id, tenant_id, provider, stamp, status },
    message: { id, mailbox_ids, is_renumbered },
    located: row.source === null ? null : { id, location: toLocation(row), asRead: asReadOf(row) },
  }
}
