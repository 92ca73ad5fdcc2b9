import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isLive } from '../../../jobs/lease.ts'
import type { Claim } from './claims.ts'
import { recordDraftSent } from '../drafts/record-sent-draft.ts'
import { announceSend, bringForward } from './record.ts'
import { type NextState, planPauseSeconds, type SendError } from './rules.ts'

/*
 * What becomes of an attempt. Each change holds for the claim under which the attempt was made: an entry that another
 * process took over, or that was found out about meanwhile, is left alone.
 */

/** Notes that the next byte cannot be taken back. False where the claim is lost: then it must not be sent. */
export async function recordHandOver(
  db: Db,
  { id, claim, claimedBy }: Claim,
  trace: string | null,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update outbox set phase = 'handed_over', handed_over_at = clock_timestamp(), trace = ${trace}
    where id = ${id} and claim = ${claim} and phase in ('pre', 'handed_over')
      and exists (select from instance where instance.id = ${claimedBy} and ${isLive})
  `.execute(db)
  return numAffectedRows > 0n
}

/** What else is to be done once the entry is sent. */
export type SentTask = 'file_copy' | 'mark_original' | null

/** Given by the provider to the message that it accepted. */
export interface Given {
  internetMessageId: string | null
  threadId: string | null
}

/** Commits the outcome of an attempt. False where the claim is lost. */
export async function recordOutcome(
  unit: UnitOfWork,
  attempt: Claim,
  next: NextState,
  { task, given }: { task: SentTask; given: Given },
): Promise<boolean> {
  const { id, claim, accountId } = attempt
  const isFirst = next.status === 'sent' && !attempt.isSent
  const { rows } = await sql<{ draft_id: string | null; draft_version: number | null }>`
    update outbox set status = ${next.status}, phase = null, claim = null, claimed_by = null,
      waiting = ${next.waiting}, rejected = ${JSON.stringify(next.rejected)}, due_at = ${next.dueAt},
      attempts = attempts + 1, error_reason = ${next.error?.reason ?? null},
      error_message = ${next.error?.message ?? null}, updated_at = clock_timestamp(),
      sent_at = case when ${next.status} = 'sent' then coalesce(sent_at, clock_timestamp()) end,
      ended_at = case when ${next.status} <> 'queued' then coalesce(ended_at, clock_timestamp()) end,
      internet_message_id = coalesce(${given.internetMessageId}::text, internet_message_id),
      thread_id = coalesce(${given.threadId}::text, thread_id),
      task = case when ${isFirst} then ${task} when task = 'look_up' then null else task end,
      task_at = case when ${isFirst} and ${task}::text is not null then clock_timestamp() else task_at end,
      task_tries = case when ${isFirst} then 0 else task_tries end
    where id = ${id} and claim = ${claim}
      -- Of a send that was given up as unknown, nothing but its acceptance is news: its content is gone.
      and (status in ('sending', 'sent') or (status = 'failed' and ${next.status} = 'sent'))
    returning draft_id, draft_version
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return false
  if (isFirst) await recordDraftSent(unit, accountId, row)
  await discardContent(unit, id)
  if (next.dueAt) await bringForward(unit, accountId, next.dueAt)
  await announceOutcome(unit, attempt, next)
  return true
}

async function announceOutcome(unit: UnitOfWork, attempt: Claim, next: NextState): Promise<void> {
  const { status, error } = next
  // What follows for single recipients of a sent message is no news of the send.
  if (attempt.isSent) return
  if (status === 'sent') return announceSend(unit, attempt, { type: 'send.sent' })
  if (!error) throw new Error('An attempt that fails says why')
  await announceSend(unit, attempt, { type: status === 'queued' ? 'send.retrying' : 'send.failed', error })
}

/** Deletes the content of an entry that nothing needs any more. */
export async function discardContent(unit: Pick<UnitOfWork, 'sql'>, id: string): Promise<void> {
  await sql`
    delete from outbox_content using outbox
    where outbox_content.outbox_id = outbox.id and outbox.id = ${id}
      and outbox.status in ('sent', 'failed', 'cancelled') and outbox.due_at is null and outbox.phase is null
      and outbox.task is distinct from 'file_copy' and outbox.task is distinct from 'look_up'
  `.execute(unit.sql)
}

/**
 * Gives an entry back as if it had not been tried: the process stops, or the account cannot be used now. If it was handed
 * over, the server has said that it did not accept it.
 */
export async function recordReleased(unit: UnitOfWork, { id, claim, accountId }: Claim): Promise<void> {
  const { rows } = await sql<{ due_at: Date }>`
    update outbox set dated_at = case when attempts > 0 or handed_over_at is not null then dated_at end,
      status = case when status = 'sending' then 'queued' else status end, phase = null, claim = null,
      claimed_by = null, due_at = clock_timestamp(), updated_at = clock_timestamp()
    where id = ${id} and claim = ${claim} and phase in ('pre', 'handed_over') returning due_at
  `.execute(unit.sql)
  if (rows[0]) await bringForward(unit, accountId, rows[0].due_at)
}

/** The answer to a hand-over was lost: what became of it is looked up. The claim stays, in case it still comes. */
export async function recordUnknown(unit: UnitOfWork, { id, claim }: Claim, seconds: number): Promise<void> {
  await sql`
    update outbox set phase = 'unknown', claimed_by = null, task = 'look_up', task_tries = 0, task_by = null,
      task_at = clock_timestamp() + make_interval(secs => ${seconds}), updated_at = clock_timestamp()
    where id = ${id} and claim = ${claim} and phase = 'handed_over'
  `.execute(unit.sql)
}

/** Holds the whole account back, since its server or its login is in trouble: longer each time in a row. */
export async function recordPause(
  unit: UnitOfWork,
  accountId: string,
  { error, retryAfterSeconds }: { error: SendError; retryAfterSeconds: number | null },
): Promise<void> {
  const { rows } = await sql<{ pauses: number; is_paused: boolean }>`
    select pauses, coalesce(paused_until > clock_timestamp(), false) as is_paused from sending_account
    where account_id = ${accountId} for no key update
  `.execute(unit.sql)
  const [held] = rows
  // Of attempts that failed side by side, one counts.
  if (!held || held.is_paused) return
  const seconds = planPauseSeconds(held.pauses + 1, retryAfterSeconds)
  await sql`
    update sending_account set pauses = pauses + 1, troubled_since = coalesce(troubled_since, clock_timestamp()), pause_reason = ${error.reason}, pause_message = ${error.message},
      paused_until = clock_timestamp() + make_interval(secs => ${seconds}),
      due_at = clock_timestamp() + make_interval(secs => ${seconds})
    where account_id = ${accountId}
  `.execute(unit.sql)
}

/** The server answered: the account is no longer held back. @param bytesMax the largest message that it takes */
export async function recordAnswered(
  unit: UnitOfWork,
  accountId: string,
  bytesMax: number | null,
): Promise<void> {
  await sql`
    update sending_account set pauses = 0, paused_until = null, troubled_since = null, pause_reason = null, pause_message = null,
      message_bytes_max = ${bytesMax}, due_at = case when pauses > 0 then clock_timestamp() else due_at end
    where account_id = ${accountId} and (pauses > 0 or message_bytes_max is distinct from ${bytesMax}::bigint)
  `.execute(unit.sql)
}
