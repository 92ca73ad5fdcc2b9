import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isFree } from '../../../processes/claims.ts'
import type { Lease } from '../../../processes/lease.ts'
import type { MessageKey } from '../../../providers/mail.ts'
import { suspendedTenants } from '../../tenancy/tenants/store.ts'
import { countingUsage } from '../../tenancy/usage/count.ts'
import { recordDraftSent } from '../drafts/record-sent-draft.ts'
import { failedInvitation, type FailedInvitation } from '../invitations/failures.ts'
import { isNoneOf } from './claims.ts'
import { bringPaceForward } from './pace.ts'
import { announceSend, bringForward } from './record.ts'
import { discardContent } from './record-attempt.ts'
import { MAY_HAVE_BEEN_SENT, OUTCOME_UNKNOWN } from './rules.ts'
import {
  claimingTask,
  finding,
  finishingCopy,
  finishingLink,
  finishingTask,
  leavingUnknown,
  moving,
  puttingOff,
  returning,
  type TaskKind,
} from './transitions.ts'

/** A task besides the hand-over of an entry, claimed by a process. */
export type Task = LookUpTask | MailboxTask

/** A look-up of an unknown outcome. */
export interface LookUpTask extends EntryOfTask {
  kind: 'look_up'
}

/** A task in the mailbox of an entry that has ended. */
export interface MailboxTask extends EntryOfTask {
  kind: Exclude<TaskKind, 'look_up'>
}

interface EntryOfTask {
  id: string
  tenantId: string
  accountId: string
  /** The event that an invitation is about; null for a send. */
  eventId: string | null
  /** Times that it was tried in vain. */
  tries: number
  /** Searches for the sent copy that found none. */
  searches: number
  /** Whether the copy may have been filed by a try that was interrupted. */
  mayBeFiled: boolean
  internetMessageId: string
  threadId: string | null
  datedAt: Date
  /** Earliest time at which a send that was held after a restore can have been handed over. */
  handedOverAt: Date
  /** It may have been handed over before the database was restored, and was held back since. */
  heldSince: Date | null
  trace: string | null
  /** The key of the copy that the provider filed; null if the provider named none. */
  sentKey: string | null
  /** The provider was found not to have it once before, and it was tried again. */
  wasAbsent: boolean
  sentAt: Date | null
  repliedTo: string | null
  forwarded: string | null
  /** Whether the server was seen to file sent mail by itself. */
  filesCopies: boolean
}

/** Tasks of one tenant that this process does at once, so that its slow servers do not hold up the others. */
const TASKS_PER_TENANT = 10

/**
 * Claims tasks that are due, at most one of an account, and evenly among tenants. Tasks of dead processes are taken
 * over.
 */
export async function claimTasks(
  db: Db,
  lease: Lease,
  limit: number,
  running: readonly string[],
): Promise<Task[]> {
  const mayTake = isFree('task_by', lease, isNoneOf(running))
  const { rows } = await sql<Task>`
    with recursive pending as (
      -- From account to account, whatever the number of their tasks.
      (select account_id from outbox where task is not null order by account_id limit 1)
      union all
      select (
        select outbox.account_id from outbox
        where task is not null and outbox.account_id > pending.account_id order by outbox.account_id limit 1
      ) from pending where pending.account_id is not null
    ), ready as (
      select first.id, row_number() over (partition by first.tenant_id order by first.task_at) + (
        select count(*) from outbox as other
        where other.tenant_id = first.tenant_id and other.id = any(${[...running]}::uuid[])
      ) as place, first.task_at
      from pending cross join lateral (
        select id, tenant_id, task_at from outbox
        where outbox.account_id = pending.account_id and task is not null and task_at <= clock_timestamp() and ${mayTake}
        order by task_at limit 1
      ) as first
      where first.tenant_id not in (${suspendedTenants}) and not exists (
        select from outbox as other
        where other.account_id = pending.account_id and other.id = any(${[...running]}::uuid[])
      )
    ), picked as (
      select id from outbox
      where id in (
        select id from ready where place <= ${TASKS_PER_TENANT} order by place, task_at limit ${limit}
      ) and task is not null and ${mayTake}
      for update skip locked
    )
    ${moving(claimingTask(lease), sql`outbox.id = picked.id`, sql`picked`)}
    returning outbox.id, tenant_id as "tenantId", account_id as "accountId", event_id as "eventId", task as kind, task_tries as tries,
      copy_searches as searches, copy_filed_at is not null as "mayBeFiled",
      internet_message_id as "internetMessageId", thread_id as "threadId",
      coalesce(dated_at, created_at) as "datedAt", trace, held_since as "heldSince",
      coalesce(handed_over_at, case when held_since is not null then send_at end, created_at) as "handedOverAt",
      sent_key as "sentKey", was_absent as "wasAbsent",
      sent_at as "sentAt", in_reply_to as "repliedTo", forward_of as forwarded,
      coalesce((select files_copies from sending_account as held where held.account_id = outbox.account_id), false)
        as "filesCopies"
  `.execute(db)
  return rows
}

/** Puts a task off. `searches` counts searches for the copy that found none; otherwise it was tried in vain. */
export async function recordPutOff(
  db: Db,
  { id, kind }: Task,
  seconds: number,
  what: 'search' | 'try' | 'wait',
): Promise<void> {
  await moving(puttingOff(kind, seconds, what), sql`id = ${id}`).execute(db)
}

/** Notes that the copy is about to be filed: one that is found afterwards may be ours. */
export async function recordFiling(db: Db, { id }: Task): Promise<void> {
  await sql`update outbox set copy_filed_at = clock_timestamp() where id = ${id}`.execute(db)
}

/** The location of the copy that we filed. */
export interface FiledCopy {
  source: string
  key: MessageKey
}

/** The way in which the copy of a sent message came about, as far as it is known. */
export interface CopyOutcome {
  isFiledByServer: boolean
  /** Null if the server filed it, or if its location is unknown. */
  filed: FiledCopy | null
}

/** The copy is there, or is given up: the content is needed no more, and the original is marked next. */
export async function recordCopyDone(
  unit: UnitOfWork,
  task: Task,
  { isFiledByServer, filed }: CopyOutcome,
): Promise<void> {
  const finished = finishingCopy(nextOf(task), filed && JSON.stringify(filed))
  await moving(finished, sql`id = ${task.id}`).execute(unit.sql)
  await discardContent(unit, task.id)
  if (isFiledByServer) await recordFilesCopies(unit, task.accountId)
}

/** The server was seen to file sent mail by itself. */
export async function recordFilesCopies(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    update sending_account set files_copies = true where account_id = ${accountId} and not files_copies
  `.execute(unit.sql)
}

/** The copy that the provider filed is linked: its Message-ID is the one that others see. The original is marked next. */
export async function recordCopyLinked(
  unit: UnitOfWork,
  task: Task,
  internetMessageId: string | null,
): Promise<void> {
  await moving(finishingLink(nextOf(task), internetMessageId), sql`id = ${task.id}`).execute(unit.sql)
}

function nextOf({ repliedTo, forwarded }: Task): 'mark_original' | null {
  return repliedTo === null && forwarded === null ? null : 'mark_original'
}

/** Nothing more is to be done for the entry. */
export async function recordTaskDone(db: Db, { id, kind }: MailboxTask): Promise<void> {
  await moving(finishingTask(kind), sql`id = ${id}`).execute(db)
}

/** The account was deleted: neither its mailbox is changed nor the content needed any more. */
export async function recordAccountGone(unit: UnitOfWork, task: MailboxTask): Promise<void> {
  await recordTaskDone(unit.sql, task)
  await discardContent(unit, task.id)
}

/** Makes an entry sent whose message was accepted after all: its copy was found, or the provider reports it. */
export async function recordFound(
  unit: UnitOfWork,
  entry: { id: string; accountId: string },
  { isCopied, key = null }: { isCopied: boolean; key?: string | null },
): Promise<void> {
  const { rows } = await sql<{ draft_id: string | null; draft_version: number | null }>`
    with found as (
      ${moving(finding({ isCopied, key }), sql`id = ${entry.id} and account_id = ${entry.accountId}`)}
      returning tenant_id, sent_at, draft_id, draft_version
    ), counted as (${countingUsage('sends', sql`select tenant_id, sent_at as counted_at from found`)})
    select draft_id, draft_version from found
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return
  await recordDraftSent(unit, entry.accountId, row)
  await discardContent(unit, entry.id)
  await announceSend(unit, entry, { type: 'send.sent' })
}

/**
 * The provider proves that it did not accept the message: it is tried again.
 * @param wasAbsent whether the proof is that the provider does not have it
 */
export async function recordNotAccepted(
  unit: UnitOfWork,
  { id, accountId }: Task,
  { wasAbsent }: { wasAbsent: boolean },
): Promise<void> {
  const error = {
    reason: 'provider_unavailable',
    message: 'The connection was lost before the message was accepted.',
  } as const
  const { rows } = await sql<{ due_at: Date }>`
    ${moving(returning(error, wasAbsent), sql`id = ${id}`)} returning due_at
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return
  await bringForward(unit, [{ accountId, dueAt: row.due_at }])
  await bringPaceForward(unit, [id])
  await announceSend(unit, { id, accountId }, { type: 'send.retrying', error })
}

/**
 * Gives up an outcome that stays unknown. A send that was held keeps its content, since it may be released.
 * @returns the invitation that has failed so; null for a send
 */
export async function recordLost(unit: UnitOfWork, task: Task): Promise<FailedInvitation | null> {
  const { id, accountId, heldSince } = task
  const error = heldSince === null ? OUTCOME_UNKNOWN : MAY_HAVE_BEEN_SENT
  const { rows } = await sql<{ id: string }>`
    ${moving(leavingUnknown(error), sql`id = ${id}`)} returning id
  `.execute(unit.sql)
  if (rows.length === 0) return null
  await discardContent(unit, id)
  await announceSend(unit, { id, accountId }, { type: 'send.failed', error })
  return failedInvitation(unit.tenantId, task, { status: 'failed', rejected: [], dueAt: null, error })
}
