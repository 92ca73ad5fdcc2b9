import type { MailboxChange } from '@waxwing/contract/mail/mailboxes.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueueUnlessDue } from '../../../jobs/enqueue.ts'
import { newId } from '../../../kit/ids.ts'
import type { RemoteMailbox } from '../../../providers/mail.ts'
import { announceUpdated } from '../messages/announce.ts'
import { directionsJob } from '../messages/record-directions.ts'
import type { MailAccount } from '../messages/rules.ts'
import { type MailboxRow, mailboxColumns, presentMailbox } from './present.ts'
import {
  changedMailboxFields,
  type IndexedMailbox,
  type MailboxPlan,
  parentIdOf,
  rowDiffers,
  toColumns,
} from './rules.ts'

/** Prefix of a key or source while its name passes from one row to another. */
const MOVING = '\u0001'

/**
 * Records the provider's mailboxes and announces the changes. Mailboxes that vanished stay until their messages are
 * found elsewhere or lost (`recordUnfiled`, `recordUnlabelled`); then `recordVanishedMailboxes` takes them out.
 */
export async function recordMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  plan: MailboxPlan,
): Promise<void> {
  const ids = new Map(plan.others?.map(({ id, provider_key }) => [provider_key, id]))
  for (const { indexed, remote } of plan.kept) ids.set(remote.key, indexed.id)
  for (const remote of plan.created) ids.set(remote.key, newId())
  const parentOf = (remote: RemoteMailbox) => parentIdOf(remote, ids)

  await releaseKeys(unit, plan)
  await insertMailboxes(unit, account, plan.created, ids)
  const changes = new Map<string, MailboxChange[]>()
  const updates = plan.kept.flatMap(({ indexed, remote }) => {
    const next = { ...toColumns(remote), id: indexed.id, parent_id: parentOf(remote) }
    const fields = changedMailboxFields(indexed, next)
    if (fields.length > 0) changes.set(indexed.id, fields)
    return fields.length > 0 || rowDiffers(indexed, next) ? [next] : []
  })
  await updateMailboxes(unit, updates)
  await moveSources(unit, account, plan)
  await stopFollowing(unit, account, plan.vanished)
  await setParents(
    unit,
    plan.created.map(remote => ({ id: ids.get(remote.key)!, parentId: parentOf(remote) })),
  )
  // The roles come first: an interrupted job begins again, and finds them in the tables.
  if (plan.kept.some(({ indexed, remote }) => (indexed.role === 'sent') !== (remote.role === 'sent')))
    await enqueueUnlessDue(unit, directionsJob, { accountId: account.id })
  if (account.isInitialized) {
    await announceMailboxes(unit, account, new Set(plan.created.map(remote => ids.get(remote.key)!)), changes)
  }
}

/** Takes up to `limit` messages out of labels that vanished; they stay where else they are. @returns how many */
export async function recordUnlabelled(
  unit: UnitOfWork,
  account: MailAccount,
  labelIds: readonly string[],
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    with placed as (
      select mailbox_id, received_at, message_id from message_mailbox
      where mailbox_id = any(${labelIds}::uuid[]) order by mailbox_id, received_at, message_id limit ${limit}
    ), taken as (
      delete from message_mailbox as held using placed
      where held.mailbox_id = placed.mailbox_id and held.received_at = placed.received_at
        and held.message_id = placed.message_id
    )
    update message set mailbox_ids = array(
      select id from unnest(mailbox_ids) with ordinality as kept (id, nth)
      where id <> all(${labelIds}::uuid[]) order by nth
    )
    where id in (select message_id from placed) returning id
  `.execute(unit.sql)
  if (account.isInitialized)
    await announceUpdated(unit, account, new Map(rows.map(({ id }) => [id, ['mailboxIds']])))
  return rows.length
}

/**
 * Deletes vanished mailboxes that hold no message any more, unless they were created again. @returns how many are left
 */
export async function recordVanishedMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  vanished: readonly IndexedMailbox[],
): Promise<number> {
  const { rows } = await sql<MailboxRow & { is_deleted: boolean }>`
    select ${mailboxColumns}, is_deleted from mailbox
    where account_id = ${account.id} and id = any(${vanished.map(({ id }) => id)}::uuid[])
      and source is null and not exists (select from message_mailbox where mailbox_id = mailbox.id)
    order by path desc for update
  `.execute(unit.sql)
  await sql`delete from mailbox where id = any(${rows.map(({ id }) => id)}::uuid[])`.execute(unit.sql)
  // Mailboxes that the interface deleted were announced at that time.
  for (const row of account.isInitialized ? rows.filter(({ is_deleted }) => !is_deleted) : [])
    announceDeletedMailbox(unit, account, row)
  return vanished.length - rows.length
}

export function announceDeletedMailbox(unit: UnitOfWork, account: MailAccount, row: MailboxRow): void {
  unit.announce({ type: 'mailbox.deleted', accountId: account.id, data: { mailbox: presentMailbox(row) } })
}

/** Frees keys that a rename or replacement hands to another row, since the constraint is checked row by row. */
async function releaseKeys(unit: UnitOfWork, plan: MailboxPlan): Promise<void> {
  const taken = new Set([...plan.created, ...plan.kept.map(({ remote }) => remote)].map(remote => remote.key))
  const holders = [
    ...plan.vanished.filter(({ provider_key }) => taken.has(provider_key)),
    ...plan.kept.flatMap(({ indexed, remote }) => (indexed.provider_key === remote.key ? [] : [indexed])),
  ]
  if (holders.length === 0) return
  await sql`
    update mailbox set provider_key = ${MOVING} || id where id = any(${holders.map(({ id }) => id)}::uuid[])
  `.execute(unit.sql)
}

async function insertMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  created: readonly RemoteMailbox[],
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  if (created.length === 0) return
  const rows = created.map(remote => ({ id: ids.get(remote.key), ...toColumns(remote) }))
  await sql`
    insert into mailbox (id, tenant_id, account_id, provider_key, provider_id, name, path, role, kind, source,
      total_count, unread_count)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, provider_key, provider_id, name, path, role, kind,
      source, total_count, unread_count
    from json_to_recordset(${JSON.stringify(rows)}::json) as created (id uuid, provider_key text, provider_id text,
      name text, path text, role text, kind text, source text, total_count integer, unread_count integer)
  `.execute(unit.sql)
}

/** Children point to their parents once all have their rows. */
async function setParents(
  unit: UnitOfWork,
  children: ReadonlyArray<{ id: string; parentId: string | null }>,
): Promise<void> {
  if (children.every(({ parentId }) => parentId === null)) return
  await sql`
    update mailbox set parent_id = child.parent_id
    from unnest(
      ${children.map(({ id }) => id)}::uuid[], ${children.map(({ parentId }) => parentId)}::uuid[]
    ) as child (id, parent_id)
    where mailbox.id = child.id
  `.execute(unit.sql)
}

async function updateMailboxes(
  unit: UnitOfWork,
  rows: ReadonlyArray<ReturnType<typeof toColumns> & { id: string; parent_id: string | null }>,
): Promise<void> {
  if (rows.length === 0) return
  await sql`
    update mailbox set provider_key = next.provider_key, provider_id = next.provider_id, name = next.name,
      path = next.path, parent_id = next.parent_id, role = next.role, kind = next.kind, source = next.source,
      total_count = next.total_count, unread_count = next.unread_count
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (id uuid, provider_key text, provider_id text,
      name text, path text, parent_id uuid, role text, kind text, source text, total_count integer,
      unread_count integer)
    where mailbox.id = next.id
  `.execute(unit.sql)
}

/**
 * Follows a renamed mailbox on from its former cursor. Its unreadable messages, which are tried again there, and its
 * changed keys move with it; both are deleted for a mailbox that can no longer hold messages.
 */
async function moveSources(unit: UnitOfWork, account: MailAccount, plan: MailboxPlan): Promise<void> {
  const moved = plan.kept.flatMap(({ indexed: { source: from, cursor }, remote: { source: to } }) =>
    from !== null && from !== to ? [{ from, to, cursor }] : [],
  )
  if (moved.length === 0) return
  await sql`
    delete from sync_cursor where account_id = ${account.id} and source = any(${moved.map(({ from }) => from)})
  `.execute(unit.sql)
  const followed = JSON.stringify(moved.filter(({ to, cursor }) => to !== null && cursor !== null))
  await sql`
    insert into sync_cursor (account_id, source, cursor)
    select ${account.id}::uuid, "to", cursor from json_to_recordset(${followed}::json) as moved ("to" text, cursor jsonb)
    on conflict (account_id, source) do update set cursor = excluded.cursor
  `.execute(unit.sql)
  for (const table of ['quarantined_message', 'changed_key']) {
    const noted = sql.table(table)
    // In two steps, since two mailboxes may have changed names and the key is checked row by row.
    await sql`
      update ${noted} set source = ${MOVING} || source
      where account_id = ${account.id} and source = any(${moved.map(({ from }) => from)})
    `.execute(unit.sql)
    await sql`
      update ${noted} set source = moved."to"
      from json_to_recordset(${JSON.stringify(moved)}::json) as moved ("from" text, "to" text)
      where account_id = ${account.id} and ${noted}.source = ${MOVING} || moved."from" and moved."to" is not null
    `.execute(unit.sql)
    await sql`
      delete from ${noted} where account_id = ${account.id} and source = any(${moved.map(({ from }) => MOVING + from)})
    `.execute(unit.sql)
  }
}

/** Deletes the cursors, quarantine and changed keys of the sources of mailboxes that are gone. */
export async function stopFollowing(
  unit: UnitOfWork,
  account: MailAccount,
  vanished: readonly IndexedMailbox[],
): Promise<void> {
  const sources = vanished.flatMap(({ source }) => source ?? [])
  if (sources.length === 0) return
  await sql`
    update mailbox set source = null where id = any(${vanished.map(({ id }) => id)}::uuid[])
  `.execute(unit.sql)
  for (const table of ['sync_cursor', 'quarantined_message', 'changed_key']) {
    const followed = sql.table(table)
    await sql`
      delete from ${followed} where account_id = ${account.id} and source = any(${sources})
        and not exists (select from mailbox where account_id = ${account.id} and source = ${followed}.source)
    `.execute(unit.sql)
  }
}

/** The position of a message in a mailbox. */
export interface HeldPosition {
  mailbox_id: string
  received_at: string
  message_id: string
}

/**
 * Marks up to `limit` messages of folders that are gone as missing: they may turn up elsewhere. Messages that are
 * missing already stay as they are.
 * @returns where to continue; null at the end
 */
export async function recordUnfiled(
  unit: UnitOfWork,
  account: MailAccount,
  folderIds: readonly string[],
  { after, limit }: { after: HeldPosition | null; limit: number },
): Promise<HeldPosition | null> {
  const isLater = after
    ? sql`(mailbox_id, received_at, message_id) > (${after.mailbox_id}, ${after.received_at}, ${after.message_id})`
    : sql`true`
  const { rows } = await sql<HeldPosition>`
    with gone as (
      select mailbox_id, received_at, message_id from message_mailbox
      where mailbox_id = any(${folderIds}::uuid[]) and ${isLater}
      order by mailbox_id, received_at, message_id limit ${limit}
    ), freed as (
      update message_mailbox as held set uid = null from gone
      where held.uid is not null
        and (held.mailbox_id, held.received_at, held.message_id) = (gone.mailbox_id, gone.received_at, gone.message_id)
    ), missed as (
      update message set missing_look = ${account.look} from gone
      where message.id = gone.message_id and (missing_look is null or missing_look = 'infinity')
    )
    select mailbox_id, received_at::text, message_id from gone
    order by mailbox_id desc, gone.received_at desc, message_id desc limit 1
  `.execute(unit.sql)
  return rows[0] ?? null
}

async function announceMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  created: ReadonlySet<string>,
  changes: ReadonlyMap<string, MailboxChange[]>,
): Promise<void> {
  const ids = [...created, ...changes.keys()]
  if (ids.length === 0) return
  const { rows } = await sql<MailboxRow>`
    select ${mailboxColumns} from mailbox where id = any(${ids}::uuid[]) order by path
  `.execute(unit.sql)
  for (const row of rows) {
    const mailbox = presentMailbox(row)
    const fields = changes.get(row.id)
    if (fields)
      unit.announce({ type: 'mailbox.updated', accountId: account.id, data: { mailbox, changes: fields } })
    else unit.announce({ type: 'mailbox.created', accountId: account.id, data: { mailbox } })
  }
}
