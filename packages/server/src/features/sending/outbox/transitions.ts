import { type RawBuilder, sql } from 'kysely'
import type { OutboxStatus } from '@waxwing/contract/sending/outbox.ts'
import type { Lease } from '../../../processes/lease.ts'
import type { NextState, SendError } from './rules.ts'

/** The progress of an attempt: claimed, handed over, or handed over without a known outcome. */
export type Phase = 'pre' | 'handed_over' | 'unknown'

/** Work that is to be done for an entry besides the hand-over. */
export type TaskKind = 'look_up' | SentTaskKind | 'discard'

/** Work in the mailbox of a message that is sent. */
export type SentTaskKind = 'file_copy' | 'link_copy' | 'mark_original'

/** The state of an entry. `phase` is null without an attempt, and `task` if nothing else is to be done. */
export interface State {
  status: OutboxStatus
  phase: Phase | null
  task: TaskKind | null
}

/** The states that an entry may be in. An entry that is sent may have last recipients, to whom it is sent again. */
export const STATES: readonly State[] = [
  { status: 'queued', phase: null, task: null },
  { status: 'sending', phase: 'pre', task: null },
  { status: 'sending', phase: 'handed_over', task: null },
  { status: 'sending', phase: 'unknown', task: 'look_up' },
  ...([null, 'pre', 'handed_over'] as const).flatMap(phase =>
    ([null, 'file_copy', 'link_copy', 'mark_original'] as const).map(task => ({
      status: 'sent' as const,
      phase,
      task,
    })),
  ),
  ...(['failed', 'cancelled'] as const).flatMap(status =>
    ([null, 'discard'] as const).map(task => ({ status, phase: null, task })),
  ),
]

/** A change of the state of entries: all that it writes, and the condition under which it does. */
export interface Transition {
  set: RawBuilder<unknown>
  when: RawBuilder<boolean>
}

/**
 * The update of a transition, without RETURNING.
 * @param which a condition on the entries that are meant
 * @param beside tables that are read beside `outbox`
 */
export function moving(
  { set, when }: Transition,
  which: RawBuilder<unknown>,
  beside: RawBuilder<unknown> | null = null,
): RawBuilder<unknown> {
  return sql`update outbox set ${set}${beside ? sql` from ${beside}` : sql``} where ${which} and (${when})`
}

const now = sql`clock_timestamp()`
const after = (seconds: number) => sql`clock_timestamp() + make_interval(secs => ${seconds})`
const noClaim = sql`claim = null, claimed_by = null`
const lookUp = (at: RawBuilder<unknown>) =>
  sql`task = 'look_up', task_at = ${at}, task_tries = 0, task_by = null`
const isUnknown = sql<boolean>`outbox.status = 'sending' and outbox.phase = 'unknown'`
const isGivenUp = sql<boolean>`outbox.status = 'failed' and outbox.error_reason = 'outcome_unknown'`
/** The date of a message that no attempt has shown to a server is taken again by the next one. */
const dateOfShown = sql`case when outbox.attempts > 0 or outbox.handed_over_at is not null then outbox.dated_at end`

/** A copy that was prepared at the provider is discarded if the entry ends unsent. @param isUnsent whether it does */
const discardingIf = (isUnsent: RawBuilder<unknown>) => {
  const discards = sql`(${isUnsent} and outbox.may_be_prepared)`
  return sql`task = case when ${discards} then 'discard' else outbox.task end,
    task_at = case when ${discards} then ${now} else outbox.task_at end,
    task_tries = case when ${discards} then 0 else outbox.task_tries end,
    task_by = case when ${discards} then null else outbox.task_by end`
}

// Before an attempt

/** A queued entry is due at another time. */
export const rescheduling = (dueAt: Date, { isScheduled }: { isScheduled: boolean }): Transition => ({
  set: sql`send_at = ${dueAt}, is_scheduled = ${isScheduled}, due_at = ${dueAt}, updated_at = ${now}`,
  when: sql`outbox.status = 'queued'`,
})

/** A queued entry is cancelled, and one that is sent is not sent to its last recipients. */
export const cancelling: Transition = {
  set: sql`status = case when outbox.status = 'queued' then 'cancelled' else outbox.status end, due_at = null,
    waiting = '{}', ended_at = coalesce(outbox.ended_at, ${now}), updated_at = ${now},
    ${discardingIf(sql`outbox.status = 'queued'`)}`,
  when: sql`outbox.status in ('queued', 'sent') and outbox.phase is null`,
}

/** An entry that waits is given up without another attempt. */
export const givingUp = ({ status, rejected }: NextState, { reason, message }: SendError): Transition => ({
  set: sql`status = ${status}, waiting = '{}', rejected = ${JSON.stringify(rejected)}, due_at = null,
    error_reason = ${reason}, error_message = ${message}, updated_at = ${now},
    ended_at = coalesce(outbox.ended_at, ${now}), ${discardingIf(sql`outbox.status = 'queued'`)}`,
  when: sql`outbox.status = ${status === 'sent' ? 'sent' : 'queued'} and outbox.due_at is not null`,
})

// An attempt

/** A process claims an entry for an attempt. */
export const claiming = (lease: Pick<Lease, 'id'>): Transition => ({
  set: sql`status = case when outbox.status = 'queued' then 'sending' else outbox.status end, phase = 'pre',
    claim = gen_random_uuid(), claimed_by = ${lease.id}, due_at = null,
    dated_at = coalesce(outbox.dated_at, ${now}), updated_at = ${now}`,
  when: sql`outbox.status in ('queued', 'sent') and outbox.phase is null`,
})

const backToQueue = sql`status = case when outbox.status = 'sending' then 'queued' else outbox.status end, phase = null,
    ${noClaim}, dated_at = ${dateOfShown}, updated_at = ${now}`

/** An attempt ends as if it had not been made. */
export const releasing: Transition = {
  set: sql`${backToQueue}, due_at = ${now}`,
  when: sql`outbox.phase in ('pre', 'handed_over')`,
}

/** The process of an attempt has died before the hand-over. */
export const losing = (pause: RawBuilder<unknown>): Transition => ({
  set: sql`${backToQueue}, due_at = clock_timestamp() + ${pause}, losses = outbox.losses + 1`,
  when: sql`outbox.phase = 'pre'`,
})

/** The next byte of an attempt cannot be taken back. @param trace an expression */
export const handingOver = (trace: RawBuilder<unknown>): Transition => ({
  set: sql`phase = 'handed_over', handed_over_at = ${now}, trace = ${trace}`,
  when: sql`outbox.phase in ('pre', 'handed_over')`,
})

const endsPrepared = sql`(given.status = 'failed' and outbox.may_be_prepared)`

/**
 * An attempt ends with the row `given`: the next status, recipients, error, task and more. After a send was given up as
 * unknown, only its acceptance is news: its content is gone. The acceptance of a send that was held after a restore is
 * true without a claim, too.
 */
export const ending: Transition = {
  set: sql`status = given.status, phase = null, ${noClaim}, held_since = null,
    waiting = given.waiting, rejected = given.rejected, due_at = given.due_at, attempts = outbox.attempts + 1,
    error_reason = given.error_reason, error_message = given.error_message, updated_at = ${now},
    sent_at = case when given.status = 'sent' then coalesce(outbox.sent_at, ${now}) end,
    ended_at = case when given.status <> 'queued' then coalesce(outbox.ended_at, ${now}) end,
    sent_key = coalesce(given.sent_key, outbox.sent_key),
    thread_id = coalesce(given.thread_id, outbox.thread_id),
    task = case when is_first then given.task when ${endsPrepared} then 'discard'
      when outbox.task = 'look_up' then null else outbox.task end,
    task_at = case when (is_first and given.task is not null) or ${endsPrepared} then ${now} else outbox.task_at end,
    task_tries = case when is_first or ${endsPrepared} then 0 else outbox.task_tries end`,
  when: sql`(
      outbox.claim = given.claim or (given.status = 'sent' and outbox.held_since is not null and (
        outbox.phase = 'unknown' or (${isGivenUp})))
    )
    and (outbox.status in ('sending', 'sent') or (outbox.status = 'failed' and given.status = 'sent'))`,
}

/** The answer to a hand-over was lost: the outcome is looked up. The claim stays, in case the answer comes. */
export const becomingUnknown = (seconds: number): Transition => ({
  set: sql`phase = 'unknown', claimed_by = null, ${lookUp(after(seconds))}, updated_at = ${now}`,
  when: sql`outbox.status = 'sending' and outbox.phase = 'handed_over'`,
})

/** The answer for the last recipients of a sent message was lost: they count as refused. @param lost as JSON */
export const settling = (lost: RawBuilder<unknown>): Transition => ({
  set: sql`phase = null, ${noClaim}, waiting = '{}', held_since = null, updated_at = ${now},
    rejected = outbox.rejected || ${lost}`,
  when: sql`outbox.status = 'sent' and outbox.phase = 'handed_over'`,
})

// The look-up of an unknown outcome

/** The message was accepted: its copy was found, or the provider reports it. */
export const finding = ({ isCopied, key }: { isCopied: boolean; key: string | null }): Transition => ({
  set: sql`status = 'sent', phase = null, ${noClaim}, waiting = '{}',
    attempts = outbox.attempts + case when outbox.status = 'sending' then 1 else 0 end,
    error_reason = null, error_message = null, held_since = null,
    sent_at = case when outbox.held_since is null then coalesce(outbox.handed_over_at, ${now})
      else greatest(outbox.handed_over_at, outbox.send_at) end,
    ended_at = ${now}, updated_at = ${now}, sent_key = ${key}::text,
    task = case when outbox.origin = 'invitation' then null
      when ${key !== null} then 'link_copy' when not ${isCopied} then 'file_copy'
      when outbox.in_reply_to is null and outbox.forward_of is null then null else 'mark_original' end,
    task_at = ${now}, task_by = null, task_tries = 0`,
  when: sql`(${isUnknown}) or (${isGivenUp})`,
})

/** The provider proves that it did not accept the message. @param wasAbsent whether by not having it */
export const returning = (error: SendError, wasAbsent: boolean): Transition => ({
  set: sql`status = 'queued', phase = null, ${noClaim}, due_at = ${now}, attempts = outbox.attempts + 1,
    task = null, task_at = null, task_by = null, updated_at = ${now}, was_absent = outbox.was_absent or ${wasAbsent},
    error_reason = ${error.reason}, error_message = ${error.message}`,
  when: isUnknown,
})

const losesPrepared = sql`(outbox.held_since is null and outbox.may_be_prepared)`

/**
 * Nothing proves that the message was accepted. The claim stays: the answer may still come. An entry that was held
 * keeps its recipients and what was prepared, since it may be released.
 */
export const leavingUnknown = (error: SendError): Transition => ({
  set: sql`status = 'failed', phase = null,
    waiting = case when outbox.held_since is null then '{}' else outbox.waiting end,
    attempts = outbox.attempts + case when outbox.held_since is null then 1 else 0 end,
    error_reason = ${error.reason}, error_message = ${error.message}, ended_at = ${now}, updated_at = ${now},
    task = case when ${losesPrepared} then 'discard' end, task_at = case when ${losesPrepared} then ${now} end,
    task_by = null, task_tries = 0`,
  when: isUnknown,
})

// A restore of the database

/**
 * Due entries are looked up and not sent. A claim stays: a process that survived may still bring its outcome. Copies
 * may have been prepared in the time that the restore has lost.
 */
export const holding = (isDue: RawBuilder<boolean>): Transition => ({
  set: sql`status = 'sending', phase = 'unknown', claim = coalesce(outbox.claim, gen_random_uuid()), claimed_by = null,
    due_at = null, dated_at = ${dateOfShown}, held_since = ${now}, may_be_prepared = true, ${lookUp(now)},
    updated_at = ${now}`,
  when: sql`(outbox.status = 'queued' and ${isDue}) or (outbox.status = 'sending' and outbox.phase = 'pre')`,
})

/** Treats the last recipients of a sent message as if the process had died after the hand-over. */
export const holdingLast = (isDue: RawBuilder<boolean>): Transition => ({
  set: sql`due_at = null, phase = 'handed_over', claim = gen_random_uuid(), claimed_by = null, held_since = ${now},
    updated_at = ${now}`,
  when: sql`outbox.status = 'sent' and (${isDue} or outbox.phase is not null)`,
})

/** Entries that were held, and not found among the sent copies. */
export const isReleasable = sql<boolean>`
  outbox.held_since is not null and ${isGivenUp} and cardinality(outbox.waiting) > 0`

/** People let an entry be sent that was held. */
export const queuingHeld: Transition = {
  set: sql`status = 'queued', claim = null, held_since = null, error_reason = null, error_message = null,
    send_at = ${now}, due_at = ${now}, ended_at = null, updated_at = ${now}, task = null, task_at = null, task_by = null`,
  when: isReleasable,
}

// Tasks of a sent message, and look-ups

/** A process claims a task. */
export const claimingTask = (lease: Pick<Lease, 'id'>): Transition => ({
  set: sql`task_by = ${lease.id}`,
  when: sql`outbox.task is not null`,
})

/** A task is put off, after it was tried in vain, after a search that found no copy, or untried. */
export const puttingOff = (kind: TaskKind, seconds: number, what: 'search' | 'try' | 'wait'): Transition => ({
  set: sql`task_by = null, task_at = ${after(seconds)},
    task_tries = outbox.task_tries + ${what === 'try' ? 1 : 0},
    copy_searches = outbox.copy_searches + ${what === 'search' ? 1 : 0}`,
  when: sql`outbox.task = ${kind}`,
})

const nextTask = (next: 'mark_original' | null) =>
  sql`task = ${next}, task_by = null, task_tries = 0, task_at = ${next === null ? null : now}`

/** The copy is filed, or is given up. @param filed the location of the filed copy, as JSON */
export const finishingCopy = (next: 'mark_original' | null, filed: string | null): Transition => ({
  set: sql`${nextTask(next)}, updated_at = ${now}, filed_copy = ${filed}`,
  when: sql`outbox.task = 'file_copy'`,
})

/** The copy that the provider filed is linked. @param internetMessageId of the copy, as others see it */
export const finishingLink = (
  next: 'mark_original' | null,
  internetMessageId: string | null,
): Transition => ({
  set: sql`${nextTask(next)}, updated_at = ${now},
    internet_message_id = coalesce(${internetMessageId}, outbox.internet_message_id)`,
  when: sql`outbox.task = 'link_copy'`,
})

/** Nothing more is done for an entry that has ended. */
export const finishingTask = (kind: Exclude<TaskKind, 'look_up'>): Transition => ({
  set: sql`task = null, task_at = null, task_by = null`,
  when: sql`outbox.task = ${kind}`,
})
