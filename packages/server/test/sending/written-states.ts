import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { type State, STATES } from '../../src/features/sending/outbox/transitions.ts'

const STATEMENTS = [
  'create schema captured',
  'create table captured.state (status text, phase text, task text)',
  // Only the first write of a state is noted, but writes at the same time do not wait for each other.
  `create function captured.note_state() returns trigger language plpgsql as $$ begin
    insert into captured.state select new.status, new.phase, new.task where not exists (
      select from captured.state as known
      where (known.status, known.phase, known.task) is not distinct from (new.status, new.phase, new.task));
    return null;
  end $$`,
  `create trigger captured_state after insert or update on public.outbox for each row
    execute function captured.note_state()`,
]

/** Lets the database note each state in which an entry of the outbox is committed from now on. */
export async function captureStates(db: Db): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

/** The states in which entries were committed, and are now. */
export async function readStates(db: Db): Promise<State[]> {
  const { rows } = await sql<State>`
    select status, phase, task from captured.state union select status, phase, task from outbox
  `.execute(db)
  return rows
}

/** The states that no transition leads to. */
export function unlistedOf(states: readonly State[]): State[] {
  return states.filter(
    ({ status, phase, task }) =>
      !STATES.some(one => one.status === status && one.phase === phase && one.task === task),
  )
}

/** Fails if an entry of the outbox is, or ever was, in a state that is not listed. */
export async function requireListedStates(db: Db): Promise<void> {
  const unlisted = unlistedOf(await readStates(db))
  if (unlisted.length > 0)
    throw new Error(`Entries of the outbox were in states that are not listed: ${JSON.stringify(unlisted)}`)
}
