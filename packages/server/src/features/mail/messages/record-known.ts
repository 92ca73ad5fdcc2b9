import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordDocuments } from '../search/record.ts'
import type { Changes } from './announce.ts'
import {
  differingColumns,
  fieldsOf,
  type MessageRow,
  rowColumns,
  rowSetters,
  rowTypes,
} from './message-row.ts'
import type { MailAccount } from './rules.ts'

/** A message that the index holds under a lasting id, locked in the transaction. */
export interface HeldMessage extends MessageRow {
  id: string
  is_missing: boolean
}

/** What a message is found by. */
const SEARCHED = new Set<keyof MessageRow>(['subject', 'from', 'to', 'cc', 'bcc', 'snippet'])

/** The messages that the index holds under these lasting ids, by id of the provider. */
export async function lockHeld(
  unit: UnitOfWork,
  account: MailAccount,
  remoteIds: readonly string[],
): Promise<Map<string, HeldMessage>> {
  if (remoteIds.length === 0) return new Map()
  const { rows } = await sql<HeldMessage & { remote_id: string }>`
    select id, ${rowColumns}, missing_look is not null as is_missing, size::float8 as size
    from message where account_id = ${account.id} and remote_id = any(${remoteIds}::text[]) order by id for update
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.remote_id, row]))
}

/**
 * Rewrites messages that read otherwise at the provider, where they are now, and what they are found by.
 * @returns the changed fields of each
 */
export async function rewriteHeld(
  unit: UnitOfWork,
  account: MailAccount,
  pairs: ReadonlyArray<{ held: HeldMessage; next: MessageRow }>,
): Promise<Changes> {
  const changes: Changes = new Map()
  const rewritten = pairs.flatMap(({ held: { id, is_missing, ...before }, next }) => {
    const columns = differingColumns<MessageRow>(before, next)
    changes.set(id, fieldsOf(columns))
    return columns.length > 0 || is_missing ? [{ id, columns, next }] : []
  })
  if (rewritten.length === 0) return changes
  await sql`
    update message set ${rowSetters}, missing_look = null
    from json_to_recordset(${JSON.stringify(rewritten.map(({ id, next }) => ({ id, ...next })))}::json)
      as next (id uuid, ${rowTypes})
    where message.id = next.id
  `.execute(unit.sql)
  await replacePlacements(
    unit,
    rewritten.flatMap(({ id, columns }) =>
      columns.includes('mailbox_ids') || columns.includes('received_at') ? [id] : [],
    ),
  )
  const found = rewritten.filter(({ columns }) => columns.some(column => SEARCHED.has(column)))
  if (found.length > 0)
    await recordDocuments(
      unit,
      account.id,
      found.map(({ id, next }) => ({ id, ...next })),
    )
  return changes
}

async function replacePlacements(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`delete from message_mailbox where message_id = any(${ids}::uuid[])`.execute(unit.sql)
  await sql`
    insert into message_mailbox (mailbox_id, received_at, message_id)
    select mailbox_id, received_at, id from message cross join unnest(mailbox_ids) as mailbox_id
    where id = any(${ids}::uuid[])
  `.execute(unit.sql)
}
