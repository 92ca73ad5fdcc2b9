import { type Insertable, sql } from 'kysely'
import type { Address } from '@waxwing/contract/shapes.ts'
import type { Db } from '../src/database/pool.ts'
import type { AccountHalfTable, AccountTable, MailboxTable } from '../src/database/tables.ts'
import { NEW_TENANT_SETTINGS } from '../src/features/tenancy/tenants/rules.ts'
import { recordDocuments } from '../src/features/mail/search/record.ts'
import { newId } from '../src/kit/ids.ts'
import { SEARCH_VERSION } from '../src/kit/search-text/version.ts'

/** Inserts rows directly into the tables, for tests of reading. Announces nothing. */

export async function sampleTenant(db: Db, values: { name?: string; syncWindowDays?: number | null } = {}) {
  const id = newId()
  const { name = `tenant ${id}`, syncWindowDays = NEW_TENANT_SETTINGS.syncWindowDays } = values
  const settings = JSON.stringify({ ...NEW_TENANT_SETTINGS, syncWindowDays })
  await db.insertInto('tenant').values({ id, name, settings }).execute()
  return { id, name }
}

const IMAP_SERVERS = {
  imap: { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada@example.com' },
  smtp: null,
  auth: 'password',
  appendSent: true,
  dav: null,
}

export interface SampleAccount {
  id: string
  tenantId: string
}

type HalfValues = Omit<Insertable<AccountHalfTable>, 'account_id' | 'tenant_id' | 'kind'>

const HALF_COLUMNS = new Set<string>([
  'behind_since',
  'closed_since',
  'differs_since',
  'failing_since',
  'initialized_at',
  'look',
  'problem',
  'runtime_detail',
  'runtime_instance',
  'runtime_state',
  'runtime_updated_at',
  'search_version',
  'stamp',
  'sync_wanted',
  'verified_at',
])

/**
 * An IMAP account that keeps its full history, so that the age of messages does not matter, with the half of its mail.
 * While it is to be followed, the half has its owner.
 */
export async function sampleAccount(
  db: Db,
  tenantId: string,
  values: Partial<Insertable<AccountTable> & HalfValues> = {},
): Promise<SampleAccount> {
  const id = newId()
  const isOfHalf = ([name]: [string, unknown]) => HALF_COLUMNS.has(name)
  const given = Object.entries(values)
  const row = {
    id,
    tenant_id: tenantId,
    provider: 'imap' as const,
    email: `${id}@example.com`,
    auth_method: 'password' as const,
    imap: JSON.stringify(IMAP_SERVERS),
    settings_override: JSON.stringify({ syncWindowDays: null }),
    ...Object.fromEntries(given.filter(each => !isOfHalf(each))),
  }
  await db.insertInto('account').values(row).execute()
  const isFollowed = (values.status ?? 'active') === 'active' && (values.deleted_at ?? null) === null
  const half = {
    account_id: id,
    tenant_id: tenantId,
    kind: 'mail' as const,
    initialized_at: new Date(),
    search_version: SEARCH_VERSION,
    owner_instance: isFollowed ? values.owner_instance : null,
    owner_epoch: values.owner_epoch,
    ...Object.fromEntries(given.filter(isOfHalf)),
  }
  await db.insertInto('account_half').values(half).execute()
  return { id, tenantId }
}

/** The grant by which an account of Google or Microsoft is opened. Its tokens cannot be read. */
export async function sampleGrant(db: Db, accountId: string, scopes: readonly string[]): Promise<void> {
  const none = Buffer.alloc(0)
  await sql`
    insert into oauth_grant (account_id, id, provider, client_id, scopes, access_token, refresh_token, issued_at,
      expires_at, refresh_at)
    select id, ${newId()}, case provider when 'gmail' then 'google' else 'microsoft' end, 'sandbox',
      ${[...scopes]}::text[], ${none}, ${none}, now(), now() + interval '1 hour', now() + interval '1 hour'
    from account where id = ${accountId}
    on conflict (account_id) do update set scopes = excluded.scopes
  `.execute(db)
}

/** A copy of a contact with other values in these columns. Its folder lists no such contact. */
export async function copyContact(db: Db, key: string, values: Record<string, string | null>): Promise<void> {
  await sql`
    insert into contact select (jsonb_populate_record(contact, ${JSON.stringify(values)}::jsonb)).* from contact
    where provider_key = ${key}
  `.execute(db)
}

/** A mailbox. Its path is its name by default. */
export async function sampleMailbox(
  db: Db,
  account: SampleAccount,
  values: Partial<Insertable<MailboxTable>> = {},
) {
  const id = newId()
  const name = values.name ?? `Mailbox ${id}`
  const path = values.path ?? name
  const row = { id, name, path, provider_key: path, role: 'custom', kind: 'folder' as const, source: path }
  await db
    .insertInto('mailbox')
    .values({ tenant_id: account.tenantId, account_id: account.id, ...row, ...values })
    .execute()
  return { id, name, path }
}

export interface SampleMessage {
  mailboxIds: string[]
  threadId?: string | null
  subject?: string | null
  from?: Address | null
  to?: Address[]
  cc?: Address[]
  bcc?: Address[]
  snippet?: string
  receivedAt?: Date
  isRead?: boolean
  isFlagged?: boolean
  isDraft?: boolean
  hasAttachments?: boolean
  importance?: 'high' | 'normal' | 'low' | null
}

/** Messages, each in its own thread by default. Returns their ids in the order given. */
export async function sampleMessages(
  db: Db,
  account: SampleAccount,
  messages: readonly SampleMessage[],
): Promise<string[]> {
  const rows = messages.map(message => toRow(message))
  await sql`
    with added as (
      insert into message (id, tenant_id, account_id, thread_id, identity, mailbox_ids, subject, "from", "to", cc, bcc,
        reply_to, sender_text, recipients_text, snippet, received_at, is_read, is_flagged, is_draft, has_attachments,
        categories, direction, importance, size)
      select id, ${account.tenantId}::uuid, ${account.id}::uuid, thread_id, id, mailbox_ids, subject, "from", "to", cc,
        bcc, '[]', sender_text, recipients_text, snippet, received_at, is_read, is_flagged, is_draft, has_attachments,
        '{}', 'inbound', importance, 1000
      from json_to_recordset(${JSON.stringify(rows)}::json) as sample (id uuid, thread_id text, mailbox_ids uuid[],
        subject text, "from" jsonb, "to" jsonb, cc jsonb, bcc jsonb, sender_text text, recipients_text text,
        snippet text, received_at timestamptz, is_read boolean, is_flagged boolean, is_draft boolean,
        has_attachments boolean, importance text)
      returning id, mailbox_ids, received_at
    )
    insert into message_mailbox (mailbox_id, received_at, message_id)
    select unnest(mailbox_ids), received_at, id from added
  `.execute(db)
  await db.transaction().execute(tx => recordDocuments({ sql: tx }, account.id, rows))
  return rows.map(row => row.id)
}

export async function sampleMessageIn(
  db: Db,
  account: SampleAccount,
  mailboxId: string,
  message: Omit<SampleMessage, 'mailboxIds'> = {},
): Promise<string> {
  const [id] = await sampleMessages(db, account, [{ ...message, mailboxIds: [mailboxId] }])
  return id!
}

const ADA: Address = { name: 'Ada Lovelace', address: 'ada@example.com' }

function toRow(message: SampleMessage) {
  const id = newId()
  const { from = ADA, to = [], cc = [], bcc = [] } = message
  return {
    id,
    thread_id: message.threadId === undefined ? id : message.threadId,
    mailbox_ids: message.mailboxIds,
    subject: message.subject === undefined ? 'A subject' : message.subject,
    from,
    to,
    cc,
    bcc,
    sender_text: searchText(from ? [from] : []),
    recipients_text: searchText([...to, ...cc, ...bcc]),
    snippet: message.snippet ?? '',
    received_at: message.receivedAt ?? new Date(),
    is_read: message.isRead ?? false,
    is_flagged: message.isFlagged ?? false,
    is_draft: message.isDraft ?? false,
    has_attachments: message.hasAttachments ?? false,
    importance: message.importance === undefined ? 'normal' : message.importance,
  }
}

function searchText(people: readonly Address[]) {
  return people
    .flatMap(({ name, address }) => (name === null ? [address] : [name, address]))
    .join('\n')
    .toLowerCase()
}
