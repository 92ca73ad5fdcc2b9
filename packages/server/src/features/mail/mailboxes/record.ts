import type { MailboxChange } from '@waxwing/contract/mail/mailboxes.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import type { RemoteMailbox } from '../../../providers/mail.ts'
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

/**
 * Records the provider's mailboxes and announces what changed. Mailboxes that vanished stay until their messages are
 * found elsewhere or lost; then `recordVanishedMailboxes` takes them out.
 */
export async function recordMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  plan: MailboxPlan,
): Promise<void> {
  const ids = new Map(plan.kept.map(({ indexed, remote }) => [remote.key, indexed.id]))
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
  await moveCursors(unit, account, plan)
  await stopFollowing(unit, account, plan.vanished)
  await setParents(
    unit,
    plan.created.map(remote => ({ id: ids.get(remote.key)!, parentId: parentOf(remote) })),
  )
  await missAll(unit, account, plan.vanished)
  if (account.isInitialized) {
    await announceMailboxes(unit, account, new Set(plan.created.map(remote => ids.get(remote.key)!)), changes)
  }
}

/** Deletes vanished mailboxes that hold no message any more. @returns how many are left */
export async function recordVanishedMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  vanished: readonly IndexedMailbox[],
): Promise<number> {
  const { rows } = await sql<MailboxRow>`
    select ${mailboxColumns} from mailbox
    where account_id = ${account.id} and id = any(${vanished.map(({ id }) => id)}::uuid[])
      and not exists (select from message_mailbox where mailbox_id = mailbox.id)
    order by path desc for update
  `.execute(unit.sql)
  await sql`delete from mailbox where id = any(${rows.map(({ id }) => id)}::uuid[])`.execute(unit.sql)
  for (const row of account.isInitialized ? rows : []) {
    unit.announce({
      type: 'mailbox.deleted',
      accountId: account.id,
      data: { mailbox: presentMailbox(row) },
    })
  }
  return vanished.length - rows.length
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
    update mailbox set provider_key = ${'\u0001'} || id where id = any(${holders.map(({ id }) => id)}::uuid[])
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

/** A renamed mailbox is followed on from where it stood. */
async function moveCursors(unit: UnitOfWork, account: MailAccount, plan: MailboxPlan): Promise<void> {
  const moved = plan.kept.filter(
    ({ indexed, remote }) => indexed.source !== null && indexed.source !== remote.source,
  )
  if (moved.length === 0) return
  await unit.sql
    .deleteFrom('sync_cursor')
    .where('account_id', '=', account.id)
    .where(
      'source',
      'in',
      moved.map(({ indexed }) => indexed.source!),
    )
    .execute()
  for (const { indexed, remote } of moved) {
    if (remote.source === null || indexed.cursor === null) continue
    await unit.sql
      .insertInto('sync_cursor')
      .values({ account_id: account.id, source: remote.source, cursor: JSON.stringify(indexed.cursor) })
      .onConflict(conflict =>
        conflict.columns(['account_id', 'source']).doUpdateSet({ cursor: JSON.stringify(indexed.cursor) }),
      )
      .execute()
  }
}

async function stopFollowing(
  unit: UnitOfWork,
  account: MailAccount,
  vanished: readonly IndexedMailbox[],
): Promise<void> {
  const sources = vanished.flatMap(({ source }) => source ?? [])
  if (sources.length === 0) return
  await sql`
    update mailbox set source = null where id = any(${vanished.map(({ id }) => id)}::uuid[])
  `.execute(unit.sql)
  await sql`
    delete from sync_cursor where account_id = ${account.id} and source = any(${sources})
      and not exists (select from mailbox where account_id = ${account.id} and source = sync_cursor.source)
  `.execute(unit.sql)
}

async function missAll(
  unit: UnitOfWork,
  account: MailAccount,
  vanished: readonly IndexedMailbox[],
): Promise<void> {
  if (vanished.length === 0) return
  await sql`
    with gone as (
      update message_mailbox set uid = null
      where mailbox_id = any(${vanished.map(({ id }) => id)}::uuid[]) returning message_id
    )
    update message set missing_look = ${account.look} from gone
    where message.id = gone.message_id and (missing_look is null or missing_look = 'infinity')
  `.execute(unit.sql)
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
