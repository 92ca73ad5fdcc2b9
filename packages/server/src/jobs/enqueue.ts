import { sql } from 'kysely'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { newId } from '../kit/ids.ts'

/** Larger sets belong in a table of their own, with a row for each thing to do. */
const JOBS_AT_ONCE_MAX = 100
const PAYLOAD_CHARACTERS_MAX = 65_536

/** A kind of job. Its payload is stored, so the releases before and after must be able to read it. */
export interface JobKind<Payload> {
  /** Lower-case words with underscores. Stored in the table. */
  name: string
  /** Parses a stored payload. @throws if it is invalid */
  parse(stored: unknown): Payload
}

/**
 * Enqueues jobs in the transaction of their effect. They run in a process with the role `jobs` after the commit, each
 * at least once, in no particular order. After a rollback they never run. For rare work only: the commit sends a
 * NOTIFY, which takes a lock on the whole database, so batches of the sync must not enqueue. A payload must hold no
 * secrets.
 */
export async function enqueue<Payload>(
  unit: UnitOfWork,
  kind: JobKind<Payload>,
  payloads: readonly Payload[],
): Promise<void> {
  if (payloads.length === 0) return
  if (payloads.length > JOBS_AT_ONCE_MAX) throw new RangeError(`${payloads.length} jobs at once`)
  const texts = payloads.map(payload => JSON.stringify(payload))
  const longest = Math.max(...texts.map(text => text.length))
  if (longest > PAYLOAD_CHARACTERS_MAX) throw new RangeError(`a payload of ${longest} characters`)
  await sql`
    with added as (
      insert into job (id, tenant_id, kind, payload)
      select id, ${unit.tenantId}, ${kind.name}, payload::jsonb
      from unnest(${texts.map(() => newId())}::uuid[], ${texts}::text[]) as given (id, payload)
    )
    select pg_notify('waxwing_job', ${kind.name})
  `.execute(unit.sql)
}

/**
 * Enqueues a job, unless an equal one is due and nobody has claimed it. For jobs that begin by taking a lock that this
 * transaction holds: so the job that is already there sees the change, even if it begins before the commit.
 */
export async function enqueueUnlessDue<Payload>(
  unit: UnitOfWork,
  kind: JobKind<Payload>,
  payload: Payload,
): Promise<void> {
  const { rows } = await sql`
    select from job
    where tenant_id = ${unit.tenantId} and kind = ${kind.name} and payload = ${JSON.stringify(payload)}::jsonb
      and claimed_by is null and due_at <= clock_timestamp()
    limit 1
  `.execute(unit.sql)
  if (rows.length === 0) await enqueue(unit, kind, [payload])
}
