import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import type { RemoteMessage } from '../../../providers/mail.ts'
import { recordDocuments } from '../search/record.ts'
import { recordThreads } from '../threads/record.ts'
import { announceCreated, announceUpdated, type Changes } from './announce.ts'
import {
  type MailAccount,
  type PlacedMailbox,
  directionOf,
  isDraftIn,
  pairUp,
  type UnplacedMessage,
} from './rules.ts'

/** A message of the provider, with the mailbox of ours that it is in. */
export interface Arrival {
  message: RemoteMessage
  mailbox: PlacedMailbox
  /** RFC 9051 UID; null where the provider has ids of its own. */
  uid: number | null
}

/**
 * Records messages that a source holds and the index does not. A message that is missing elsewhere and turns up here
 * moved: it keeps its id and is announced as updated. One that the index has under this UID already is left alone, so
 * that a repeated step changes nothing.
 * @param isNews whether new messages are announced; moved ones are in any case
 */
export async function recordArrivals(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly Arrival[],
  isNews: boolean,
): Promise<{ created: number; moved: number }> {
  const fresh = await withoutKnown(unit, arrivals)
  const unplaced = account.hasMissing ? await lockUnplaced(unit, account, fresh) : []
  const { found, created } = pairUp(fresh, unplaced)

  const changes: Changes = await placeFound(unit, account, found)
  const ids = await insertMessages(unit, account, created, changes)
  if (account.isInitialized) {
    await announceUpdated(unit, account, changes)
    if (isNews) await announceCreated(unit, account, ids)
  }
  return { created: created.length, moved: found.length }
}

async function withoutKnown(unit: UnitOfWork, arrivals: readonly Arrival[]): Promise<Arrival[]> {
  const unique = [
    ...new Map(arrivals.map(arrival => [`${arrival.mailbox.id} ${arrival.uid}`, arrival])).values(),
  ]
  const { rows } = await sql<{ mailbox_id: string; uid: string }>`
    select held.mailbox_id, held.uid
    from unnest(
      ${unique.map(({ mailbox }) => mailbox.id)}::uuid[],
      ${unique.map(({ uid }) => uid)}::bigint[]
    ) as arrived (mailbox_id, uid)
    join message_mailbox as held on held.mailbox_id = arrived.mailbox_id and held.uid = arrived.uid
  `.execute(unit.sql)
  const known = new Set(rows.map(row => `${row.mailbox_id} ${row.uid}`))
  return unique.filter(({ mailbox, uid }) => !known.has(`${mailbox.id} ${uid}`))
}

async function lockUnplaced(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly Arrival[],
): Promise<UnplacedMessage[]> {
  const { rows } = await sql<UnplacedMessage>`
    select id, identity, mailbox_ids, received_at, is_read, is_flagged, is_draft, categories, direction,
      missing_look = 'infinity' as is_renumbered
    from message
    where account_id = ${account.id} and missing_look is not null
      and identity = any(${arrivals.map(({ message }) => message.identity)}::uuid[])
    order by id
    for update
  `.execute(unit.sql)
  return rows
}

/** Puts messages where they were found. @returns the changed fields of each message that reads differently now */
async function placeFound(
  unit: UnitOfWork,
  account: MailAccount,
  found: ReadonlyArray<{ arrival: Arrival; unplaced: UnplacedMessage }>,
): Promise<Changes> {
  const changes: Changes = new Map()
  if (found.length === 0) return changes
  const rows = found.map(({ arrival, unplaced }) => {
    const after = placedState(account, arrival)
    changes.set(unplaced.id, changedFields(unplaced, after))
    return { id: unplaced.id, uid: arrival.uid, mailbox_id: arrival.mailbox.id, ...after }
  })
  const json = JSON.stringify(rows)
  await sql`
    update message set mailbox_ids = placed.mailbox_ids, is_read = placed.is_read, is_flagged = placed.is_flagged,
      is_draft = placed.is_draft, categories = placed.categories, direction = placed.direction, missing_look = null
    from json_to_recordset(${json}::json) as placed (id uuid, mailbox_ids uuid[], is_read boolean,
      is_flagged boolean, is_draft boolean, categories text[], direction text)
    where message.id = placed.id
  `.execute(unit.sql)
  await sql`delete from message_mailbox where message_id = any(${rows.map(row => row.id)}::uuid[])`.execute(
    unit.sql,
  )
  await sql`
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select placed.mailbox_id, message.received_at, placed.id, placed.uid
    from json_to_recordset(${json}::json) as placed (id uuid, mailbox_id uuid, uid bigint)
    join message on message.id = placed.id
  `.execute(unit.sql)
  return changes
}

function placedState(account: MailAccount, { message, mailbox }: Arrival) {
  return {
    mailbox_ids: [mailbox.id],
    is_read: message.isRead,
    is_flagged: message.isFlagged,
    is_draft: isDraftIn(mailbox.role, message.isDraft),
    categories: message.categories.toSorted(),
    direction: directionOf(account, mailbox.role, message.from),
  }
}

function changedFields(before: UnplacedMessage, after: ReturnType<typeof placedState>): MessageChange[] {
  const changed: MessageChange[] = []
  if (before.mailbox_ids.join() !== after.mailbox_ids.join()) changed.push('mailboxIds')
  if (before.is_read !== after.is_read) changed.push('isRead')
  if (before.is_flagged !== after.is_flagged) changed.push('isFlagged')
  if (before.is_draft !== after.is_draft) changed.push('isDraft')
  if (before.categories.join() !== after.categories.join()) changed.push('categories')
  if (before.direction !== after.direction) changed.push('direction')
  return changed
}

/** Inserts new messages and threads them; messages whose thread joined another one are added to `changes`. */
async function insertMessages(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly Arrival[],
  changes: Changes,
): Promise<string[]> {
  if (arrivals.length === 0) return []
  const ids = arrivals.map(() => newId())
  const threadIds = await threadArrivals(unit, account, arrivals, ids, changes)
  const rows = arrivals.map((arrival, index) => toRow(account, arrival, ids[index]!, threadIds[index]!))

  await sql`
    insert into message (id, tenant_id, account_id, thread_id, internet_message_id, identity, mailbox_ids, subject,
      "from", "to", cc, bcc, reply_to, sender_text, recipients_text, snippet, received_at, sent_at, is_read, is_flagged,
      is_draft, has_attachments, categories, direction, importance, size)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, thread_id, internet_message_id, identity, mailbox_ids,
      subject, "from", "to", cc, bcc, reply_to, sender_text, recipients_text, snippet, received_at, sent_at, is_read,
      is_flagged, is_draft, has_attachments, categories, direction, importance, size
    from json_to_recordset(${JSON.stringify(rows)}::json) as arrived (id uuid, thread_id text,
      internet_message_id text, identity uuid, mailbox_ids uuid[], subject text, "from" jsonb, "to" jsonb, cc jsonb,
      bcc jsonb, reply_to jsonb, sender_text text, recipients_text text, snippet text, received_at timestamptz,
      sent_at timestamptz, is_read boolean, is_flagged boolean, is_draft boolean, has_attachments boolean,
      categories text[], direction text, importance text, size bigint)
  `.execute(unit.sql)
  await sql`
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select * from unnest(
      ${arrivals.map(({ mailbox }) => mailbox.id)}::uuid[],
      ${arrivals.map(({ message }) => message.receivedAt)}::timestamptz[],
      ${ids}::uuid[],
      ${arrivals.map(({ uid }) => uid)}::bigint[]
    )
  `.execute(unit.sql)
  await recordDocuments(unit, account.id, rows)
  return ids
}

async function threadArrivals(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly Arrival[],
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

function toRow(account: MailAccount, { message, mailbox }: Arrival, id: string, threadId: string) {
  const recipients = [...message.to, ...message.cc, ...message.bcc]
  return {
    id,
    thread_id: threadId,
    internet_message_id: message.internetMessageId,
    identity: message.identity,
    mailbox_ids: [mailbox.id],
    subject: message.subject,
    from: message.from,
    to: message.to,
    cc: message.cc,
    bcc: message.bcc,
    reply_to: message.replyTo,
    sender_text: message.from ? searchText([message.from]) : '',
    recipients_text: searchText(recipients),
    snippet: message.snippet,
    received_at: message.receivedAt,
    sent_at: message.sentAt,
    is_read: message.isRead,
    is_flagged: message.isFlagged,
    is_draft: isDraftIn(mailbox.role, message.isDraft),
    has_attachments: message.hasAttachments,
    categories: message.categories.toSorted(),
    direction: directionOf(account, mailbox.role, message.from),
    importance: message.importance,
    size: message.size,
  }
}

function searchText(addresses: RemoteMessage['to']): string {
  return addresses
    .flatMap(({ name, address }) => (name === null ? [address] : [name, address]))
    .join('\n')
    .toLowerCase()
}
