import type { AnyArrival } from './arrival.ts'
import { sql } from 'kysely'
import { plainArray } from '../../../database/plain-array.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { recordDocuments } from '../search/record.ts'
import { recordThreads } from '../threads/record.ts'
import { announceCreated, announceUpdated, type Changes } from './announce.ts'
import { keyColumns, remoteIdsOf } from './location.ts'
import {
  differingColumns,
  fieldsOf,
  type MessageRow,
  rowColumns,
  rowTypes,
  toRow,
  toState,
} from './message-row.ts'
import { type HeldMessage, lockHeld, type Rewriting, rewriteHeld, rowOf } from './record-known.ts'
import { countContents } from './record-content-version.ts'
import { takeKeyedContents, takeMarkedContents, takeSavedContents } from './record-new-contents.ts'
import { linkingSends, noteAnswers } from './record-sends.ts'
import { withoutOwnDrafts } from './own-drafts.ts'
import { pairUp, type UnplacedMessage } from './pair-moved.ts'
import type { MailAccount } from './rules.ts'

/**
 * Records messages that a source handed over. A message that is missing elsewhere and turns up here moved: it keeps its
 * id and is announced as updated. A message that the index already holds under its UID is left alone, so that a
 * repeated step changes nothing; a message that it holds under its lasting id is rewritten if it differs.
 * @param isNews whether new messages are announced; moved ones are in any case
 * @returns the ids of the moved and the new messages
 */
export async function recordArrivals(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
  isNews: boolean,
): Promise<{ ids: string[] }> {
  const { fresh, known } = await sortOut(unit, account, arrivals)
  const keyed = await takeKeyedContents(unit, account, fresh)
  const marked = await takeMarkedContents(unit, account, keyed.others)
  const unplaced = account.hasMissing ? await lockUnplaced(unit, account, marked.others) : []
  const { found, created } = pairUp(marked.others, unplaced)
  const placed = await placeFound(unit, account, found)
  // Only now, since found messages are no longer missing.
  const taken = new Set(marked.rewritings.map(({ held }) => held.id))
  const saved = await takeSavedContents(unit, account, account.hasMissing ? created : [], taken)
  const replacing = [...keyed.rewritings, ...marked.rewritings, ...saved.rewritings]
  const replacedIds = replacing.map(({ held }) => held.id)
  // A draft that has later content under another key is not where its former content was reported again.
  const replaced = new Set(replacedIds)
  const kept = known.filter(({ held }) => !replaced.has(held.id))

  const changes: Changes = new Map([
    ...placed,
    ...(await rewriteHeld(unit, account, [...kept, ...replacing])),
  ])
  await countContents(unit, [...replacedIds, ...kept.filter(isEdited).map(({ held }) => held.id)])
  const added = account.hasMissing ? saved.others : created
  const ids = await insertMessages(unit, account, added, changes)
  if (account.isInitialized) {
    await announceUpdated(unit, account, changes)
    if (isNews) {
      await noteAnswers(
        unit,
        account.id,
        added.map(({ message: { references, inReplyTo, mayBeReport, mayBeInvitation } }, index) => ({
          id: ids[index]!,
          // The message that it replies to comes last, even if other messages decide the thread.
          references: [...references, ...inReplyTo],
          mayBeReport,
          mayBeInvitation,
        })),
      )
      await announceCreated(unit, account, ids)
    }
  }
  return { ids: [...found.map(one => one.unplaced.id), ...replacedIds, ...ids] }
}

/** Separates the messages that the index lacks from the ones that it holds under the key of the arrival. */
async function sortOut(unit: UnitOfWork, account: MailAccount, arrivals: readonly AnyArrival[]) {
  // The last word on a key counts: a change log may report a message twice.
  const unique = [...new Map(arrivals.map(arrival => [placeOf(arrival), arrival])).values()]
  const numbered = unique.filter(({ message }) => typeof message.key === 'number')
  const others = unique.filter(({ message }) => typeof message.key !== 'number')
  const held = await lockHeld(unit, account, remoteIdsOf(others.flatMap(({ message }) => message.key ?? [])))
  const heldOf = ({ message }: AnyArrival): HeldMessage | undefined => held.get(String(message.key))
  return {
    fresh: [
      ...(await withoutNumbered(unit, account, numbered)),
      ...(await withoutOwnDrafts(
        unit,
        account,
        others.filter(arrival => !heldOf(arrival)),
      )),
    ],
    known: others.flatMap((arrival): Rewriting[] => {
      const row = heldOf(arrival)
      if (!row) return []
      const next = toRow(
        account,
        arrival.message,
        arrival.mailboxes,
        arrival.message.threadId ?? row.thread_id,
      )
      return [{ held: row, next, location: { uid: null } }]
    }),
  }
}

/** The columns of content that a provider may change under the same lasting id, in a draft. */
const CONTENT = [
  'subject',
  'to',
  'cc',
  'bcc',
  'snippet',
  'has_attachments',
  'size',
  'draft_generation',
] as const

/**
 * Whether another client has changed the content of a draft in place. If its content was not read, any change of it
 * counts.
 */
function isEdited({ held, next }: Rewriting): boolean {
  if (!next.is_draft || next.draft_key !== null) return false
  if (held.draft_digest !== null && next.draft_digest !== null) return held.draft_digest !== next.draft_digest
  const hasOtherRevision = held.draft_revision !== null && held.draft_revision !== next.draft_revision
  return hasOtherRevision || differingColumns<Partial<MessageRow>>(pick(rowOf(held)), pick(next)).length > 0
}

function pick(row: MessageRow): Partial<MessageRow> {
  return Object.fromEntries(CONTENT.map(column => [column, row[column]]))
}

function placeOf({ message: { key }, mailboxes }: AnyArrival): string {
  return typeof key === 'number' ? `${mailboxes[0]?.id} ${key}` : String(key)
}

/**
 * The arrivals that the index lacks. Only from here on does a message that the interface added have the provider's
 * identity and size: the interface can only compute the one and count the other. If a known number now has another
 * Message-ID, the number was reused, and its former message is missing.
 */
async function withoutNumbered(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
): Promise<AnyArrival[]> {
  if (arrivals.length === 0) return []
  const { rows } = await sql<{ mailbox_id: string; uid: string }>`
    with held as (
      select held.mailbox_id, held.uid, held.message_id, arrived.identity, arrived.size,
        message.internet_message_id is not null
          and arrived.internet_message_id is distinct from message.internet_message_id as is_other
      from unnest(
        ${arrivals.map(({ mailboxes }) => mailboxes[0]?.id)}::uuid[],
        ${arrivals.map(({ message }) => message.key)}::bigint[],
        ${arrivals.map(({ message }) => message.identity)}::uuid[],
        ${arrivals.map(({ message }) => message.size)}::bigint[],
        ${arrivals.map(({ message }) => message.internetMessageId)}::text[]
      ) as arrived (mailbox_id, uid, identity, size, internet_message_id)
      join message_mailbox as held on held.mailbox_id = arrived.mailbox_id and held.uid = arrived.uid
      join message on message.id = held.message_id
    ), known as (
      select * from held where not is_other
    ), replaced as (
      update message_mailbox set uid = null from held
      where is_other and message_mailbox.mailbox_id = held.mailbox_id and message_mailbox.uid = held.uid
    ), missed as (
      update message set missing_look = ${account.look} from held where is_other and message.id = held.message_id
    ), corrected as (
      update message set identity = known.identity, size = known.size from known
      where message.id = known.message_id
        and (message.identity, message.size) is distinct from (known.identity, known.size)
    )
    select mailbox_id, uid from known
  `.execute(unit.sql)
  const known = new Set(rows.map(row => `${row.mailbox_id} ${row.uid}`))
  return arrivals.filter(arrival => !known.has(placeOf(arrival)))
}

async function lockUnplaced(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
): Promise<UnplacedMessage[]> {
  const { rows } = await sql<UnplacedMessage>`
    select id, identity, mailbox_ids, received_at, is_read, is_flagged, is_draft, categories, direction,
      coalesce(missing_look = 'infinity', false) as is_renumbered
    from message
    where account_id = ${account.id} and (missing_look is not null or mailbox_ids && array(
        select id from mailbox where account_id = ${account.id} and is_deleted and kind = 'folder'
      ))
      and identity = any(${arrivals.map(({ message }) => message.identity)}::uuid[])
    order by id
    for update
  `.execute(unit.sql)
  return rows
}

/** Puts messages where they were found. @returns the changed fields of each message that differs now */
async function placeFound(
  unit: UnitOfWork,
  account: MailAccount,
  found: ReadonlyArray<{ arrival: AnyArrival; unplaced: UnplacedMessage }>,
): Promise<Changes> {
  const changes: Changes = new Map()
  if (found.length === 0) return changes
  const rows = found.map(({ arrival: { message, mailboxes }, unplaced }) => {
    const after = toState(account, message, mailboxes)
    changes.set(unplaced.id, fieldsOf(differingColumns<Partial<UnplacedMessage>>(unplaced, after)))
    return { id: unplaced.id, ...keyColumns(message.key), ...after }
  })
  const json = JSON.stringify(rows)
  await sql`
    update message set mailbox_ids = placed.mailbox_ids, is_read = placed.is_read, is_flagged = placed.is_flagged,
      is_draft = placed.is_draft, categories = placed.categories, direction = placed.direction,
      remote_id = placed.remote_id, missing_look = null, kept_until = null
    from json_to_recordset(${json}::json) as placed (id uuid, mailbox_ids uuid[], is_read boolean,
      is_flagged boolean, is_draft boolean, categories text[], direction text, remote_id text)
    where message.id = placed.id
  `.execute(unit.sql)
  await sql`delete from message_mailbox where message_id = any(${rows.map(row => row.id)}::uuid[])`.execute(
    unit.sql,
  )
  await sql`
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select mailbox_id, message.received_at, placed.id, placed.uid
    from json_to_recordset(${json}::json) as placed (id uuid, mailbox_ids uuid[], uid bigint)
    join message on message.id = placed.id cross join unnest(placed.mailbox_ids) as mailbox_id
  `.execute(unit.sql)
  return changes
}

/** Inserts new messages and threads them; messages whose thread joined another one are added to `changes`. */
async function insertMessages(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
  changes: Changes,
): Promise<string[]> {
  if (arrivals.length === 0) return []
  const ids = arrivals.map(() => newId())
  const threadIds = await threadArrivals(unit, account, arrivals, ids, changes)
  const rows = arrivals.map(({ message, mailboxes }, index) => ({
    id: ids[index]!,
    missing_look: message.key !== null ? null : mailboxes.length > 0 ? 'Infinity' : 0,
    ...toRow(account, message, mailboxes, threadIds[index]!),
  }))

  const inserting = sql`
    insert into message (id, tenant_id, account_id, missing_look, ${rowColumns})
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, missing_look, ${rowColumns}
    from json_to_recordset(${JSON.stringify(rows)}::json) as arrived (id uuid, missing_look float8, ${rowTypes})`
  await executeUnawaited(unit.sql, inserting)
  const placements = arrivals.flatMap(({ message, mailboxes }, index) =>
    mailboxes.map(mailbox => ({ mailbox, message, id: ids[index]! })),
  )
  const placing = sql`
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select * from unnest(
      ${plainArray(placements.map(({ mailbox }) => mailbox.id))}::uuid[],
      ${plainArray(placements.map(({ message }) => message.receivedAt.toISOString()))}::timestamptz[],
      ${plainArray(placements.map(({ id }) => id))}::uuid[],
      ${plainArray(placements.map(({ message }) => keyColumns(message.key).uid))}::bigint[]
    )`
  await executeUnawaited(unit.sql, placing)
  await recordDocuments(unit, account.id, rows)
  const outbound = rows.flatMap(({ id, direction }) => (direction === 'outbound' ? [id] : []))
  if (outbound.length > 0) await executeUnawaited(unit.sql, linkingSends(account.id, outbound))
  return ids
}

async function threadArrivals(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
  ids: readonly string[],
  changes: Changes,
): Promise<string[]> {
  const threadless = arrivals.flatMap(({ message }, index) =>
    message.threadId === null ? [{ ...message, id: ids[index]! }] : [],
  )
  const { threadIds, movedMessageIds } = await recordThreads(unit, account.id, threadless)
  for (const id of movedMessageIds) changes.set(id, [...(changes.get(id) ?? []), 'threadId'])
  return arrivals.map(({ message }, index) => message.threadId ?? threadIds.get(ids[index]!) ?? ids[index]!)
}
