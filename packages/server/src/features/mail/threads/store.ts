import type { Thread } from '@waxwing/contract/mail/threads.ts'
import { type RawBuilder, sql } from 'kysely'
import { isAfter, type NewestFirst, rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { ownMailbox } from '../mailboxes/store.ts'
import { isoTime, summaryFields } from '../messages/present.ts'
import { windowStart } from '../messages/sync-window.ts'

/** A thread of a list: its summary as JSON text, and the message that decides its position. */
export interface ListedThread {
  json: string
  time: string
  id: string
}

/**
 * Lists the threads of an account by their latest message within the sync window, newest first; one more than `limit`
 * if there are more. With a mailbox: by their latest message there.
 *
 * There is no table of threads. The list walks messages in order and keeps the latest of each thread; one index lookup
 * per message shows whether it is the latest.
 */
export async function listThreads(
  db: Db,
  accountId: string,
  list: { mailboxId?: string | undefined; position: NewestFirst | null; limit: number },
): Promise<ListedThread[]> {
  const { mailboxId, position, limit } = list
  const walk =
    mailboxId === undefined ? walkAccount(accountId, position) : walkMailbox(accountId, mailboxId, position)
  const { rows } = await sql<ListedThread>`
    select row_to_json(summary)::text as json, ${sql.raw(isoTime('latest.received_at'))} as time, latest.id
    from (${walk} limit ${rowsToRead(limit)}) as latest
    cross join lateral (${summarize(accountId, sql`latest.thread_id`)}) as summary
    order by latest.received_at desc, latest.id desc
  `.execute(db)
  return rows
}

/** Returns a thread with its messages within the sync window, oldest first, or null. */
export async function findThread(db: Db, accountId: string, threadId: string): Promise<Thread | null> {
  // One statement, so that the summary and the messages are from one snapshot.
  const { rows } = await sql<{ thread: Thread }>`
    select row_to_json(whole) as thread from (
      select summary.*, (
        select json_agg(listed) from (
          select ${summaryFields} from message
          where message.account_id = ${accountId} and message.thread_id = ${threadId}
            and message.received_at >= ${windowStart(accountId)}
          order by message.received_at, message.id
        ) as listed
      ) as messages
      from (${summarize(accountId, sql`${threadId}`)}) as summary
    ) as whole
  `.execute(db)
  return rows[0]?.thread ?? null
}

/**
 * The latest message of each thread. Messages without a thread are in no list of threads. The planner expects `is not
 * true` to hold for every other row and therefore walks; it expects `is null` or `not exists` to hold rarely, and would
 * collect and sort the whole account.
 */
function walkAccount(accountId: string, position: NewestFirst | null): RawBuilder<unknown> {
  return sql`
    select message.thread_id, message.received_at, message.id from message
    where message.account_id = ${accountId} and message.thread_id is not null
      and message.received_at >= ${windowStart(accountId)}
      and ${isAfter(position, { time: 'message.received_at', id: 'message.id' })}
      and (
        select true from message as later
        where later.account_id = ${accountId} and later.thread_id = message.thread_id
          and (later.received_at, later.id) > (message.received_at, message.id)
        order by later.received_at, later.id limit 1
      ) is not true
    order by message.received_at desc, message.id desc`
}

/** The latest message of each thread in a mailbox. OFFSET 0 as in `listSummaries`. */
function walkMailbox(
  accountId: string,
  mailboxId: string,
  position: NewestFirst | null,
): RawBuilder<unknown> {
  return sql`
    select message.thread_id, held.received_at, held.message_id as id
    from message_mailbox as held cross join lateral (
      select thread_id from message where id = held.message_id and account_id = ${accountId} offset 0
    ) as message
    where held.mailbox_id = ${ownMailbox(accountId, mailboxId)} and message.thread_id is not null
      and held.received_at >= ${windowStart(accountId)}
      and ${isAfter(position, { time: 'held.received_at', id: 'held.message_id' })}
      and (
        select true from message as later
        where later.account_id = ${accountId} and later.thread_id = message.thread_id
          and (later.received_at, later.id) > (held.received_at, held.message_id)
          and later.mailbox_ids @> array[${mailboxId}::uuid]
        order by later.received_at, later.id limit 1
      ) is not true
    order by held.received_at desc, held.message_id desc`
}

/** The summary of one thread as a row; no row if none of it is within the sync window. */
function summarize(accountId: string, threadId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    with member as materialized (
      select id, thread_id, mailbox_ids, subject, "from", "to", cc, snippet, received_at, is_read, is_flagged,
        is_draft, has_attachments
      from message
      where account_id = ${accountId} and thread_id = ${threadId} and received_at >= ${windowStart(accountId)}
    )
    select newest.thread_id as id, newest.subject, newest.snippet,
      (${PARTICIPANTS}) as participants,
      total."messageCount", total."unreadCount", total."isFlagged", total."hasAttachments", total."hasDrafts",
      array(select distinct unnest(mailbox_ids) from member order by 1) as "mailboxIds",
      newest.id as "latestMessageId", ${sql.raw(isoTime('newest.received_at'))} as "lastMessageAt"
    from (select * from member order by received_at desc, id desc limit 1) as newest
    cross join (
      select count(*)::int as "messageCount", (count(*) filter (where not is_read))::int as "unreadCount",
        bool_or(is_flagged) as "isFlagged", bool_or(has_attachments) as "hasAttachments",
        bool_or(is_draft) as "hasDrafts"
      from member
    ) as total`
}

const NAME_WITHOUT_ADDRESS = sql`case when person ->> 'address' = '' then person ->> 'name' end`

/**
 * The people in From, To and Cc, in order of first appearance, with a name if any message has one. Addresses are
 * compared without case. Senders of bounces may have a name and no address; they are compared by their names. Equal
 * fields of several messages are merged before their addresses are read, which is the most expensive part for a long
 * thread.
 */
const PARTICIPANTS = sql`
  select coalesce(json_agg(person order by since, field, nth, person), '[]') from (
    select distinct on (lower(person ->> 'address'), ${NAME_WITHOUT_ADDRESS}) person, since, field, nth
    from (
      select field, people, min(received_at) as since
      from member cross join lateral (values (1, jsonb_build_array("from")), (2, "to"), (3, cc)) as named (field, people)
      group by field, people
    ) as circle cross join lateral jsonb_array_elements(people) with ordinality as listed (person, nth)
    where person <> 'null'
    order by lower(person ->> 'address'), ${NAME_WITHOUT_ADDRESS}, (person ->> 'name') is null, since, field, nth, person
  ) as participant`

/** A message of a thread, whether or not it is within the sync window. */
export interface ThreadMember {
  id: string
  mailbox_ids: string[]
  is_read: boolean
}

/** All indexed messages of a thread, oldest first. */
export async function listMembers(db: Db, accountId: string, threadId: string): Promise<ThreadMember[]> {
  const { rows } = await sql<ThreadMember>`
    select id, mailbox_ids, is_read from message
    where account_id = ${accountId} and thread_id = ${threadId} order by received_at, id
  `.execute(db)
  return rows
}
