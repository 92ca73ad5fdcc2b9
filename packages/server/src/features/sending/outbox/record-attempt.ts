import { type RawBuilder, sql } from 'kysely'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isClaimed } from '../../../processes/claims.ts'
import type { Claim } from './claims.ts'
import { failedInvitation, type FailedInvitation } from '../invitations/failures.ts'
import { NO_REFUSALS, recordRefusals, type RecordedRefusals } from '../bounces/record-refusals.ts'
import { discardingContent } from './content.ts'
import { recordDraftSent } from '../drafts/record-sent-draft.ts'
import { entryColumns, entryCopy, type EntryRow, presentEntry } from './present.ts'
import { countingUsage } from '../../tenancy/usage/count.ts'
import { type Consulting, findingSuppressed } from '../suppressions/store.ts'
import { bringPaceForward } from './pace.ts'
import { bringForward } from './record.ts'
import type { SendOutcome } from '../../../providers/sending.ts'
import { type NextState, type SendError } from './rules.ts'
import { planPauseSeconds } from './schedule.ts'
import { becomingUnknown, ending, handingOver, moving, releasing, type SentTaskKind } from './transitions.ts'

/*
 * Records of attempts. Each record holds for the claim under which the attempt was made: an entry that another process
 * took over, or whose outcome was found out meanwhile, is left alone.
 */

/**
 * Records that attempts may leave prepared copies at their provider.
 * @returns whether the claim of each attempt still holds: only then may it prepare anything
 */
export async function recordPrepared(db: Db, attempts: readonly Claim[]): Promise<boolean[]> {
  const { rows } = await sql<{ id: string }>`
    update outbox set may_be_prepared = true from unnest(${ofClaims(attempts)}) as given (id, claim, claimed_by)
    where ${isStillClaimed(attempts)} and outbox.phase = 'pre'
    returning outbox.id
  `.execute(db)
  const recordedIds = new Set(rows.map(({ id }) => id))
  return attempts.map(({ id }) => recordedIds.has(id))
}

/** An attempt whose next byte cannot be taken back. */
export interface HandOver {
  attempt: Claim
  /** The adapter's own note for looking the outcome up. */
  trace: string | null
  /** The suppression list that the send names. */
  listId: string | null
  /** The recipients for whom the server takes the message. */
  to: readonly string[]
}

/** `lost`: another process has the entry, or it was found out about meanwhile. */
export type HandOverResult = 'recorded' | 'lost' | { suppressed: ReadonlySet<string> }

/**
 * Records hand-overs of one tenant by one commit. Only recorded entries may be sent, and no send to recipients that
 * were suppressed meanwhile; invitations are no mail that people opt out of. Suppressed recipients are looked for after the commit: a suppression that is committed before the look is
 * seen by it, and one that is committed later finds the hand-over recorded. The update could not look, since a
 * statement sees the database as it was when it began.
 */
export async function recordHandOvers(
  db: Db,
  tenantId: string,
  handOvers: readonly HandOver[],
): Promise<HandOverResult[]> {
  const [recorded, suppressed] = await inOneFlight(db, [
    recordingHandOvers(handOvers),
    findingSuppressed(tenantId, handOvers.map(consulting)),
  ])
  const recordedIds = new Set(recorded.map(({ id }) => id))
  const addresses = Map.groupBy(suppressed, ({ index }) => index)
  return handOvers.map(({ attempt }, index) => {
    if (!recordedIds.has(attempt.id)) return 'lost'
    const found = addresses.get(index) ?? []
    return found.length > 0 ? { suppressed: new Set(found.map(({ address }) => address)) } : 'recorded'
  })
}

function consulting({ attempt, listId, to }: HandOver): Consulting {
  return { listId, to: attempt.eventId === null ? to : [] }
}

/** @returns the ids of entries that are still claimed by the attempt */
function recordingHandOvers(handOvers: readonly HandOver[]): RawBuilder<{ id: string }> {
  const attempts = handOvers.map(({ attempt }) => attempt)
  const given = sql`unnest(${ofClaims(attempts)}, ${handOvers.map(({ trace }) => trace)}::text[])
    as given (id, claim, claimed_by, trace)`
  return sql`
    ${moving(handingOver(sql`given.trace`), isStillClaimed(attempts), given)}
    returning outbox.id`
}

/** Three arrays: the ids of entries, their claims, and the processes that made them. */
function ofClaims(attempts: readonly Claim[]): RawBuilder<unknown> {
  return sql`
      ${attempts.map(({ id }) => id)}::uuid[], ${attempts.map(({ claim }) => claim)}::uuid[],
      ${attempts.map(({ claimedBy }) => claimedBy)}::uuid[]`
}

/** Whether an entry is still claimed as `given`, by a process that may hold it. */
function isStillClaimed(attempts: readonly Claim[]): RawBuilder<boolean> {
  // The ids are given once more: with the join alone, PostgreSQL expects many rows, and reads the whole of a small table.
  return sql<boolean>`outbox.id = any(${attempts.map(({ id }) => id)}::uuid[])
    and outbox.id = given.id and outbox.claim = given.claim and ${isClaimed('given.claimed_by')}`
}

/** The task that follows once the entry is sent. */
export type SentTask = SentTaskKind | null

/** The end of an attempt, as it is recorded. */
export interface Outcome {
  attempt: Claim
  next: NextState
  task: SentTask
  /** Given by the provider to the message that it accepted. */
  given: SendOutcome['given']
  /** Set if the server answered: its account is no longer held back. */
  answered: { bytesMax: number | null } | null
}

export interface RecordedOutcomes extends RecordedRefusals {
  /** Outcomes that were not written, since their claim is lost. */
  lost: readonly Outcome[]
  failed: FailedInvitation[]
}

/**
 * Writes the outcomes of attempts of one tenant, except for attempts whose claim is lost. The claim of a send that was
 * held after a restore may have been lost with the history.
 */
export async function recordOutcomes(
  unit: UnitOfWork,
  outcomes: readonly Outcome[],
): Promise<RecordedOutcomes> {
  if (outcomes.length === 0) return { ...NO_REFUSALS, lost: [], failed: [] }
  const which = sql`outbox.id = any(${outcomes.map(({ attempt }) => attempt.id)}::uuid[]) and outbox.id = given.id`
  const { rows } = await sql<EntryRow & { draft_version: number | null }>`
    with given as (
      select * from json_to_recordset(${JSON.stringify(outcomes.map(asRecord))}::json) as given (
        id uuid, claim uuid, account_id uuid, status text, waiting text[], rejected jsonb, due_at timestamptz,
        error_reason text, error_message text, is_first boolean, task text, sent_key text, thread_id text,
        is_answered boolean, bytes_max bigint)
    ), ended as (
      ${moving(ending, which, sql`given`)}
      returning outbox.*
    ), counted as (
      ${countingUsage('sends', sql`select tenant_id, sent_at as counted_at from ended join given using (id) where is_first`)}
    ), ${discardingContent(sql`outbox_id in (select id from ended as outbox where ${needsNoContent})`)},
    answered as (
      update sending_account as held set pauses = 0, paused_until = null, troubled_since = null, pause_reason = null,
        pause_message = null, message_bytes_max = given.bytes_max,
        due_at = case when pauses > 0 then clock_timestamp() else due_at end
      from (
        -- Entries are locked before the row of their account.
        select distinct on (given.account_id) given.account_id, given.bytes_max
        from given left join ended using (id) where is_answered
      ) as given
      where held.account_id = given.account_id
        and (pauses > 0 or message_bytes_max is distinct from given.bytes_max)
    )
    select ${entryColumns}, outbox.draft_version from ended as outbox ${entryCopy}
  `.execute(unit.sql)
  const ended = new Map(rows.map(row => [row.id, row]))
  for (const { attempt, next } of outcomes) {
    const row = ended.get(attempt.id)
    if (!row) continue
    if (isFirst(attempt, next)) await recordDraftSent(unit, attempt.accountId, row)
    announceOutcome(unit, row, attempt, next)
  }
  const written = outcomes.filter(({ attempt }) => ended.has(attempt.id))
  const again = outcomes.flatMap(({ attempt: { id, accountId }, next: { dueAt } }) =>
    dueAt && ended.has(id) ? [{ id, accountId, dueAt }] : [],
  )
  await bringForward(unit, again)
  await bringPaceForward(
    unit,
    again.map(({ id }) => id),
  )
  return {
    ...(await recordRefusals(unit, written)),
    lost: outcomes.filter(({ attempt }) => !ended.has(attempt.id)),
    failed: written.flatMap(({ attempt, next }) => failedInvitation(unit.tenantId, attempt, next) ?? []),
  }
}

const isFirst = (attempt: Claim, next: NextState) => next.status === 'sent' && !attempt.isSent

function asRecord({ attempt, next, task, given, answered }: Outcome) {
  return {
    id: attempt.id,
    claim: attempt.claim,
    account_id: attempt.accountId,
    status: next.status,
    waiting: next.waiting,
    rejected: next.rejected,
    due_at: next.dueAt,
    error_reason: next.error?.reason ?? null,
    error_message: next.error?.message ?? null,
    is_first: isFirst(attempt, next),
    task,
    sent_key: given.key,
    thread_id: given.threadId,
    is_answered: answered !== null,
    bytes_max: answered?.bytesMax ?? null,
  }
}

function announceOutcome(unit: UnitOfWork, row: EntryRow, attempt: Claim, next: NextState): void {
  const { status, error } = next
  // Later outcomes for single recipients of a sent message are no news of the send.
  if (attempt.isSent || attempt.eventId !== null) return
  const outbox = presentEntry(row)
  const { accountId } = attempt
  if (status === 'sent') return unit.announce({ type: 'send.sent', accountId, data: { outbox } })
  if (!error) throw new Error('An attempt that fails has an error')
  const type = status === 'queued' ? 'send.retrying' : 'send.failed'
  unit.announce({ type, accountId, data: { outbox, error } })
}

const needsNoContent = sql`
  outbox.status in ('sent', 'failed', 'cancelled') and outbox.due_at is null and outbox.phase is null
  and outbox.held_since is null
  and outbox.task is distinct from 'file_copy' and outbox.task is distinct from 'look_up'`

/** Deletes the content of an entry that nothing needs any more. */
export async function discardContent(unit: Pick<UnitOfWork, 'sql'>, id: string): Promise<void> {
  await sql`
    with ${discardingContent(sql`outbox_id in (select id from outbox where id = ${id} and ${needsNoContent})`)}
    select
  `.execute(unit.sql)
}

/**
 * Gives an entry back as if it had not been tried: the process stops, or the account cannot be used now. If it was
 * handed over, the server has answered that it did not accept it.
 */
export async function recordReleased(unit: UnitOfWork, { id, claim, accountId }: Claim): Promise<void> {
  const { rows } = await sql<{ due_at: Date }>`
    ${moving(releasing, sql`id = ${id} and claim = ${claim}`)} returning due_at
  `.execute(unit.sql)
  if (!rows[0]) return
  await bringForward(unit, [{ accountId, dueAt: rows[0].due_at }])
  await bringPaceForward(unit, [id])
}

/** Has the outcome of a hand-over looked up whose answer was lost. */
export async function recordUnknown(unit: UnitOfWork, { id, claim }: Claim, seconds: number): Promise<void> {
  await moving(becomingUnknown(seconds), sql`id = ${id} and claim = ${claim}`).execute(unit.sql)
}

/** Lets the whole account wait for room in the quota of its provider. Nothing has failed. */
export async function recordWait(unit: UnitOfWork, accountId: string, seconds: number): Promise<void> {
  await sql`
    update sending_account set
      paused_until = greatest(paused_until, clock_timestamp() + make_interval(secs => ${seconds})),
      due_at = greatest(due_at, clock_timestamp() + make_interval(secs => ${seconds}))
    where account_id = ${accountId}
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
  // Attempts that failed side by side count as one.
  if (!held || held.is_paused) return
  const seconds = planPauseSeconds(held.pauses + 1, retryAfterSeconds)
  await sql`
    update sending_account set pauses = pauses + 1, troubled_since = coalesce(troubled_since, clock_timestamp()), pause_reason = ${error.reason}, pause_message = ${error.message},
      paused_until = clock_timestamp() + make_interval(secs => ${seconds}),
      due_at = clock_timestamp() + make_interval(secs => ${seconds})
    where account_id = ${accountId}
  `.execute(unit.sql)
}
