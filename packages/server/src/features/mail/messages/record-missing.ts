import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { DraftContent, MessageKey } from '../../../providers/mail.ts'
import { recordDeletions } from './record-deletions.ts'
import { remoteIdsOf, uidsOf } from './location.ts'
import { dropChangedKeys } from './record-changed-keys.ts'
import { recordLaterContents } from './record-new-contents.ts'
import type { FollowedSource, MailAccount } from './rules.ts'

const idsOf = ({ mailboxes }: FollowedSource) => mailboxes.map(({ id }) => id)

/**
 * A message that is gone from its location is *missing* first: it may turn up in another mailbox, and then it moved.
 * Only a message that no mailbox has at the end of a pass is deleted. The state lies in the rows, so that a crash
 * forgets nothing. A message under a lasting id that was found in another source meanwhile is not missing.
 */
export async function markMissing(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
  keys: readonly MessageKey[],
): Promise<void> {
  const [uids, remoteIds] = [uidsOf(keys), remoteIdsOf(keys)]
  if (uids.length > 0) {
    await sql`
      with gone as (
        update message_mailbox set uid = null
        where mailbox_id = any(${idsOf(followed)}::uuid[]) and uid = any(${uids}::bigint[]) returning message_id
      )
      update message set missing_look = ${account.look} from gone where message.id = gone.message_id
    `.execute(unit.sql)
  }
  if (remoteIds.length > 0) {
    await sql`
      update message set missing_look = ${account.look}
      where account_id = ${account.id} and remote_id = any(${remoteIds}::text[])
        and mailbox_ids && ${idsOf(followed)}::uuid[]
    `.execute(unit.sql)
  }
}

/**
 * Marks the messages of a source as unrecognised: their state is unknown until they are recognised as the source is
 * read again. With `void` all their keys are void, too (RFC 9051 section 2.3.1.1).
 */
export async function markUnrecognised(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
  keys: 'void' | 'kept',
): Promise<void> {
  const mailboxIds = idsOf(followed)
  if (keys === 'void') {
    await sql`
      with void as (
        update message_mailbox set uid = null where mailbox_id = any(${mailboxIds}::uuid[]) and uid is not null
        returning message_id
      )
      update message set missing_look = 'infinity' from void where message.id = void.message_id
    `.execute(unit.sql)
  }
  await sql`
    update message set missing_look = 'infinity', remote_id = ${keys === 'void' ? null : sql`remote_id`}
    from message_mailbox as held
    where held.mailbox_id = any(${mailboxIds}::uuid[]) and message.id = held.message_id and remote_id is not null
      and missing_look is null
  `.execute(unit.sql)
  await sql`
    delete from quarantined_message where account_id = ${account.id} and source = ${followed.source}
  `.execute(unit.sql)
  if (keys === 'void') await dropChangedKeys(unit, account.id, followed.source)
}

/**
 * Makes messages of a source of numbered messages missing that have no number, or no row of their mailbox: no step of
 * the sync would ever find them. They are recognised when their source hands them over, or else deleted.
 * @param ids the messages without a number, if the source is about to hand over everything that the index lacks of it;
 *   null if not: then all of them wait until the source was read again
 * @returns how many are missing now
 */
export async function missUnplaced(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
  ids: readonly string[] | null,
): Promise<number> {
  const { rows: returned } = await sql<{ message_id: string }>`
    insert into message_mailbox (mailbox_id, received_at, message_id, uid)
    select mailbox_id, received_at, message.id, null from message cross join unnest(mailbox_ids) as mailbox_id
    where account_id = ${account.id} and missing_look is null and remote_id is null
      and mailbox_ids && ${idsOf(followed)}::uuid[] and mailbox_id = any(${idsOf(followed)}::uuid[])
      and not exists (select from message_mailbox where message_id = message.id)
    returning message_id
  `.execute(unit.sql)
  const known = ids && [...ids, ...returned.map(row => row.message_id)]
  const { numAffectedRows = 0n } = await sql`
    update message set missing_look = ${known ? account.look : 'infinity'} from message_mailbox as held
    where held.mailbox_id = any(${idsOf(followed)}::uuid[]) and held.uid is null and message.id = held.message_id
      and missing_look is null and remote_id is null ${known ? sql`and message.id = any(${known}::uuid[])` : sql``}
      and not exists (select from message_mailbox where message_id = message.id and uid is not null)
  `.execute(unit.sql)
  return Number(numAffectedRows)
}

/**
 * Records the lasting ids of a listing: messages that waited to be recognised now are. @returns the ids that the index
 * lacks
 */
export async function recordListed(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
  remoteIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ remote_id: string }>`
    with held as (
      select id, remote_id from message
      where account_id = ${account.id} and remote_id = any(${remoteIds}::text[])
        and mailbox_ids && ${idsOf(followed)}::uuid[] and (missing_look is null or missing_look = 'infinity')
      order by id for update
    ), recognised as (
      update message set missing_look = null from held where message.id = held.id and missing_look is not null
    )
    select remote_id from held
  `.execute(unit.sql)
  const held = new Set(rows.map(row => row.remote_id))
  return remoteIds.filter(id => !held.has(id))
}

/** Marks the messages of a source as missing that were not recognised when it was read again to its end. */
export async function missUnrecognised(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
): Promise<void> {
  await sql`
    update message set missing_look = ${account.look}
    from message_mailbox as held
    where held.mailbox_id = any(${idsOf(followed)}::uuid[]) and held.uid is null
      and message.id = held.message_id and message.missing_look = 'infinity'
  `.execute(unit.sql)
}

/** The drafts that a provider has while some of its messages are gone. */
export interface DraftsThere {
  contents: readonly DraftContent[]
  /** Whether all of these contents were read, except for the ones in quarantine. */
  areRead: boolean
}

/** A provider may not find a message yet that was made less than this before. */
export const UNFOUND_SECONDS = 60

/**
 * Deletes messages that the provider has deleted, and announces them as last indexed. A draft that has another content
 * by now, which was not read yet, is left: it is missing until that is read, or the draft is gone as well. So is a draft
 * whose content the interface is replacing by another message, or has just written as one.
 * @returns the keys of these contents
 */
export async function recordDeleted(
  unit: UnitOfWork,
  account: MailAccount,
  remoteIds: readonly string[],
  { contents, areRead }: DraftsThere,
): Promise<string[]> {
  if (remoteIds.length === 0) return []
  const { rows } = await sql<{ id: string; content: string | null; is_changing: boolean }>`
    with unread as (
      select now.content, now.draft_key
      from unnest(${contents.map(({ key }) => String(key))}::text[], ${contents.map(({ draftKey }) => draftKey)}::text[])
        as now (content, draft_key)
      where ${!areRead} or exists (
        select from quarantined_message as held where held.account_id = ${account.id} and held.remote_id = content
      )
    ), gone as (
      select id, content, is_draft and draft_key is null and (
          exists (
            select from draft_change as change where change.message_id = message.id and held_until > clock_timestamp()
          ) or draft_id is not null and abs(extract(epoch from clock_timestamp() - received_at)) < ${UNFOUND_SECONDS}
        ) as is_changing
      from message left join unread using (draft_key)
      where account_id = ${account.id} and remote_id = any(${remoteIds}::text[])
      order by id for update of message
    ), missed as (
      update message set missing_look = ${account.look} from gone
      where message.id = gone.id and (content is not null or is_changing) and missing_look is null
    )
    select id, content, is_changing from gone
  `.execute(unit.sql)
  const deleted = rows.filter(({ content, is_changing }) => content === null && !is_changing)
  await recordDeletions(
    unit,
    account,
    deleted.map(({ id }) => id),
  )
  return rows.flatMap(({ content }) => content ?? [])
}

/**
 * Deletes up to `limit` messages without a lasting id that were missing before this look began, and announces them
 * as last indexed. A draft of which the index has a later content takes that. @returns how many there were
 */
export async function recordLost(
  unit: UnitOfWork,
  account: MailAccount,
  look: number,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from message
    where account_id = ${account.id} and missing_look < ${look} and remote_id is null
      and (kept_until is null or kept_until < clock_timestamp())
    order by id limit ${limit} for update
  `.execute(unit.sql)
  const lost = rows.map(({ id }) => id)
  const kept = await recordLaterContents(unit, account, lost)
  await recordDeletions(
    unit,
    account,
    lost.filter(id => !kept.has(id)),
  )
  return rows.length
}

/** Takes up to `limit` messages that fell out of the sync window out of the index, in silence. @returns how many */
export async function forgetOlder(
  unit: UnitOfWork,
  account: MailAccount,
  before: Date,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    delete from message where id in (
      select id from message where account_id = ${account.id} and received_at < ${before}
      order by received_at limit ${limit}
    ) returning id
  `.execute(unit.sql)
  return rows.length
}
