import { sql } from 'kysely'
import { isOneOf } from '../../../database/one-of.ts'
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

/** A message of the index, locked in the transaction. */
export interface HeldMessage extends MessageRow {
  id: string
  /** Its location is unknown now. */
  is_missing: boolean
  /** Null if it has a lasting id, its UID is not known now, or its mailbox is no more. */
  uid: number | null
  /** The source in which its UID holds. */
  source: string | null
}

/** An indexed message, and the row that is to replace its own. */
export interface Rewriting {
  held: HeldMessage
  next: MessageRow
  /**
   * Its location now: its UID, null if it has a lasting id; `awaited` if a sync has yet to find its UID in its mailbox;
   * null if it did not change.
   */
  location: { uid: number | null } | 'awaited' | null
}

/** The columns that the search covers. */
const SEARCHED = new Set<keyof MessageRow>(['subject', 'from', 'to', 'cc', 'bcc', 'snippet', 'received_at'])

const heldColumns = sql`id, ${rowColumns}, missing_look is not null as is_missing, size::float8 as size,
  held.uid, held.source`
const heldFrom = sql`message left join lateral (
  select uid::float8 as uid, mailbox.source from message_mailbox join mailbox on mailbox.id = mailbox_id
  where message_id = message.id and uid is not null and mailbox.source is not null limit 1
) as held on true`

/** The messages that the index holds under these lasting ids, by id of the provider. */
export async function lockHeld(
  unit: UnitOfWork,
  account: MailAccount,
  remoteIds: readonly string[],
): Promise<Map<string, HeldMessage>> {
  if (remoteIds.length === 0) return new Map()
  const { rows } = await sql<HeldMessage & { remote_id: string }>`
    select ${heldColumns} from ${heldFrom}
    where account_id = ${account.id} and remote_id = any(${remoteIds}::text[]) order by id for update of message
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.remote_id, row]))
}

/** Messages of the account by their ids. */
export async function lockHeldById(
  unit: UnitOfWork,
  account: MailAccount,
  ids: readonly string[],
): Promise<Map<string, HeldMessage>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<HeldMessage>`
    select ${heldColumns} from ${heldFrom}
    where account_id = ${account.id} and ${isOneOf('id', ids)} order by id for update of message
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.id, row]))
}

/** The provider's columns of a held message. */
export function rowOf({
  id: _id,
  is_missing: _isMissing,
  uid: _uid,
  source: _source,
  ...row
}: HeldMessage): MessageRow {
  return row
}

/**
 * Rewrites messages that differ at the provider, their locations, and their search documents.
 * @returns the changed fields of each
 */
export async function rewriteHeld(
  unit: UnitOfWork,
  account: MailAccount,
  rewritings: readonly Rewriting[],
): Promise<Changes> {
  const changes: Changes = new Map()
  const rewritten = rewritings.flatMap(({ held, next, location }) => {
    const columns = differingColumns<MessageRow>(rowOf(held), next)
    changes.set(held.id, fieldsOf(columns))
    const isMoved =
      location !== null && (held.is_missing || location === 'awaited' || location.uid !== held.uid)
    return columns.length > 0 || isMoved ? [{ held, columns, next, location, isMoved }] : []
  })
  if (rewritten.length === 0) return changes
  const rows = rewritten.map(({ held, next, location }) => ({
    ...next,
    id: held.id,
    known_as: location === null ? 'kept' : location === 'awaited' ? location : 'known',
  }))
  const ids = rows.map(({ id }) => id)
  await sql`
    update message set ${rowSetters}, missing_look = case known_as
      when 'kept' then missing_look when 'awaited' then 'infinity' end,
      kept_until = case when known_as <> 'known' then kept_until end
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (id uuid, known_as text, ${rowTypes})
    where message.id = next.id and ${isOneOf('message.id', ids)}
  `.execute(unit.sql)
  await replacePlacements(
    unit,
    rewritten.flatMap(({ held, columns, location, isMoved }) => {
      const uid = location === null ? held.uid : location === 'awaited' ? null : location.uid
      const isPlaced = isMoved || columns.includes('mailbox_ids') || columns.includes('received_at')
      return isPlaced ? [{ id: held.id, uid }] : []
    }),
  )
  const found = rewritten.filter(({ columns }) => columns.some(column => SEARCHED.has(column)))
  if (found.length > 0)
    await recordDocuments(
      unit,
      account.id,
      found.map(({ held, next }) => ({ id: held.id, ...next })),
    )
  return changes
}

async function replacePlacements(
  unit: UnitOfWork,
  placed: ReadonlyArray<{ id: string; uid: number | null }>,
): Promise<void> {
  if (placed.length === 0) return
  const ids = placed.map(({ id }) => id)
  await sql`delete from message_mailbox where message_id = any(${ids}::uuid[])`.execute(unit.sql)
  await sql`
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select mailbox_id, received_at, message.id, placed.uid
    from unnest(${ids}::uuid[], ${placed.map(({ uid }) => uid)}::bigint[]) as placed (id, uid)
    join message on message.id = placed.id cross join unnest(mailbox_ids) as mailbox_id
  `.execute(unit.sql)
}
