import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { Cursor, MessageKey, RemoteMessage } from '../../../providers/mail.ts'
import { recordDeletions } from './record-deletions.ts'
import { keyColumns } from './location.ts'
import type { MailAccount, PlacedMailbox } from './rules.ts'

/** The location of a message before the change at the provider. */
export interface FormerLocation {
  source: string
  key: MessageKey
}

/** The location of a message now, with the numbering of its source in which it is valid. */
export interface NewLocation extends FormerLocation {
  /** Whether the key is valid in the source as the index has followed it. */
  isValidUnder(cursor: Cursor | null): boolean
  /** The cursor from which the source is followed if nothing of it is indexed; null if keys last. */
  firstCursor: Cursor | null
}

/** A message as the provider has it now, without its key. */
export type KeylessMessage = Omit<RemoteMessage, 'key'>

/** An id that no message has. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

export interface Placing {
  id: string
  identity: string
  mailboxes: readonly PlacedMailbox[]
  to: NewLocation | null
}

/**
 * The new keys that can be stored, by message. If the sync has taken one of these messages for a new one in the meantime
 * (on servers without MOVE it is in two places for a moment), that one is deleted again.
 */
export async function placeAll(
  unit: UnitOfWork,
  account: MailAccount,
  placings: readonly Placing[],
): Promise<Map<string, FormerLocation>> {
  const valid = await recordValid(
    unit,
    account,
    placings.flatMap(({ to }) => to ?? []),
  )
  const keyed = placings.flatMap(({ to, ...placing }) => (to && valid.has(to) ? [{ ...placing, to }] : []))
  const holders = await findHolders(unit, account, keyed)
  const doubles = keyed.flatMap(({ id, identity }) => {
    const holder = holders.get(id)
    return holder?.identity === identity ? [holder.id] : []
  })
  await recordDeletions(unit, account, doubles)
  const isFree = ({ id, identity }: Placing) => (holders.get(id)?.identity ?? identity) === identity
  return new Map(keyed.filter(isFree).map(({ id, to: { source, key } }) => [id, { source, key }]))
}

/**
 * The locations whose source was not renumbered since. A source that was never followed gets a cursor with their
 * numbering, so that the sync does not take the keys to be void when it first looks there.
 */
export async function recordValid(
  unit: UnitOfWork,
  account: MailAccount,
  locations: readonly NewLocation[],
): Promise<Set<NewLocation>> {
  if (locations.length === 0) return new Set()
  const { rows } = await sql<{ source: string; cursor: Cursor }>`
    select source, cursor from sync_cursor
    where account_id = ${account.id} and source = any(${[...new Set(locations.map(({ source }) => source))]}::text[])
  `.execute(unit.sql)
  const cursors = new Map(rows.map(({ source, cursor }) => [source, cursor]))
  const valid = locations.filter(location => location.isValidUnder(cursors.get(location.source) ?? null))
  const first = valid.filter(({ source, firstCursor }) => firstCursor !== null && !cursors.has(source))
  if (first.length > 0) await recordFirstCursors(unit, account, first)
  return new Set(valid)
}

/** Leaves out sources of which keys are indexed: their cursor was lost, so these keys may be void. */
async function recordFirstCursors(
  unit: UnitOfWork,
  account: MailAccount,
  locations: readonly NewLocation[],
): Promise<void> {
  const cursors = [...new Map(locations.map(({ source, firstCursor }) => [source, firstCursor]))]
  const rows = cursors.map(([source, cursor]) => ({ source, cursor }))
  await sql`
    insert into sync_cursor (account_id, source, cursor)
    select account_id, source, first.cursor
    from json_to_recordset(${JSON.stringify(rows)}::json) as first (source text, cursor jsonb)
    join mailbox using (source)
    where account_id = ${account.id}
      and not exists (select from message_mailbox where mailbox_id = mailbox.id and uid is not null)
    on conflict do nothing
  `.execute(unit.sql)
}

interface Holder {
  id: string
  identity: string
  internet_message_id: string | null
}

/** Other messages that the index holds under the new keys, by the message that is to be placed. */
async function findHolders(
  unit: UnitOfWork,
  account: MailAccount,
  placings: ReadonlyArray<Placing & { to: NewLocation }>,
): Promise<Map<string, Holder>> {
  const wanted = placings.flatMap(({ id, mailboxes, to }) =>
    (mailboxes.length > 0 ? mailboxes : [null]).map(mailbox => ({
      placed_id: id,
      mailbox_id: mailbox?.id ?? null,
      ...keyColumns(to.key),
    })),
  )
  if (wanted.length === 0) return new Map()
  const { rows } = await sql<Holder & { placed_id: string }>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(wanted)}::json)
        as wanted (placed_id uuid, mailbox_id uuid, uid bigint, remote_id text)
    )
    select placed_id, message.id, identity, internet_message_id from wanted
    join message_mailbox as held on held.mailbox_id = wanted.mailbox_id and held.uid = wanted.uid
    join message on message.id = held.message_id where message.id <> placed_id
    union all
    select placed_id, message.id, identity, internet_message_id from wanted
    join message on message.account_id = ${account.id} and message.remote_id = wanted.remote_id
    where message.id <> placed_id
  `.execute(unit.sql)
  return new Map(rows.map(({ placed_id, ...holder }) => [placed_id, holder]))
}

const RECENT_MESSAGES = 100

/** A message that is added. */
export interface Added {
  message: KeylessMessage
  mailboxes: readonly PlacedMailbox[]
}

/** The message that the index holds under the key of one that is added. */
export async function findHolder(
  unit: UnitOfWork,
  account: MailAccount,
  { message, mailboxes }: Added,
  to: NewLocation,
): Promise<Holder | null> {
  const placing = { id: NOBODY, identity: message.identity, mailboxes, to }
  return (await findHolders(unit, account, [placing])).get(NOBODY) ?? null
}

/** The message that the sync has made of one that was added, if its key is not known: the latest of its Message-ID. */
export async function findAdded(unit: UnitOfWork, { message, mailboxes }: Added): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select message.id, internet_message_id from message_mailbox as held join message on message.id = held.message_id
      where mailbox_id = any(${mailboxes.map(({ id }) => id)}::uuid[])
      order by held.received_at desc, message.id desc limit ${RECENT_MESSAGES}
    ) as recent where internet_message_id = ${message.internetMessageId} order by id desc limit 1
  `.execute(unit.sql)
  return rows[0]?.id ?? null
}
