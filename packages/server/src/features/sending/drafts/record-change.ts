import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { presentEtag } from '../../mail/messages/present.ts'
import { refuse } from '../../../calls/refuse.ts'
import { matches } from './rules.ts'

/** A change is under way at most this long; it has ended, or its process died. */
export const HELD_SECONDS = 300

/** The generation of a new draft. The sync may have read it before it was complete, and then does not know that. */
export const FIRST_GENERATION = 1

/**
 * Begins a change of a draft. Each gets a higher generation than all before it, including interrupted ones. Refuses if
 * the draft does not have the content that the caller expects, or may have another one in a moment.
 * @returns the generation
 */
export async function beginDraftChange(
  unit: UnitOfWork,
  accountId: string,
  messageId: string,
  ifMatch: string | null,
): Promise<number> {
  const { rows } = await sql<{ content_version: number; generation: number }>`
    select content_version, coalesce(draft_generation, 0) as generation from message
    where id = ${messageId} and account_id = ${accountId} for update
  `.execute(unit.sql)
  const row = rows[0] ?? refuse('draft_not_found')
  if (!matches(ifMatch, presentEtag({ id: messageId, ...row })))
    refuse('provider_conflict', undefined, CHANGED)
  const { rows: begun } = await sql<{ generation: number }>`
    insert into draft_change as known (message_id, generation, held_until)
    values (${messageId}, ${Math.max(row.generation, FIRST_GENERATION) + 1}, clock_timestamp() + make_interval(secs => ${HELD_SECONDS}))
    on conflict (message_id) do update
      set generation = greatest(known.generation + 1, excluded.generation), held_until = excluded.held_until
      where ${ifMatch === null} or known.held_until is null or known.held_until < clock_timestamp()
    returning generation
  `.execute(unit.sql)
  return (begun[0] ?? refuse('provider_conflict', undefined, CHANGED)).generation
}

export const CHANGED = { message: 'The draft has changed. Read it again.' }

/** Ends a change of a draft, with any outcome. */
export async function endDraftChange(unit: UnitOfWork, messageId: string, generation: number): Promise<void> {
  await sql`
    update draft_change set held_until = null where message_id = ${messageId} and generation = ${generation}
  `.execute(unit.sql)
}
