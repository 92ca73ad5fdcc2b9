import type { Client } from 'pg'

/** Runs a recurring task now instead of at its next time, or again if it is running. */
export async function makeTaskDue(database: Pick<Client, 'query'>, name: string): Promise<void> {
  await database.query(
    `with due as (
       insert into recurring_task (name, due_at) values ($1, clock_timestamp())
       on conflict (name) do update set due_at = excluded.due_at
     )
     select pg_notify('waxwing_job', $1)`,
    [name],
  )
}
