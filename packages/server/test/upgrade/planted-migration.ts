import type { Db } from '../../src/database/pool.ts'
import { sql } from 'kysely'

export const PLANTED = '9000_planted'

/**
 * Makes a migration that adds whatever may be added beside an older release: two columns to every table, a table, and
 * indexes of large tables.
 */
export async function plantMigration(db: Db, servesFrom: number): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select format('%I', relname) as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'schema_migration' order by relname
  `.execute(db)
  const columns = rows.map(
    ({ name }) =>
      `alter table ${name} add column planted_note text, add column planted_count int not null default 7;`,
  )
  return `-- Serves releases from ${String(servesFrom).padStart(4, '0')} on.
${columns.join('\n')}
create table planted (account_id uuid primary key references account, noted_at timestamptz not null default now());

-- Outside a transaction:
create index concurrently planted_message on message (account_id, planted_count) where planted_note is null;
create index concurrently planted_event on event (tenant_id, planted_count);
update account_token set planted_note = 'planted' where id in (
  select id from account_token where planted_note is null limit 50);
`
}
