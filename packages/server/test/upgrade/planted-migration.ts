import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'

/** The version of the first of them. */
const FIRST = 9000

/**
 * Writes migrations that add whatever may be added beside an older release: two columns to every table, a table, and
 * indexes of large tables. As in a release, each migration changes one table: a transaction that locks many tables would
 * have them all only at a moment at which no request uses two of them.
 */
export async function plantMigrations(db: Db, servesFrom: number, folder: string): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'schema_migration' order by relname
  `.execute(db)
  const bodies = new Map(
    rows.map(({ name }) => [
      name,
      `alter table "${name}" add column planted_note text, add column planted_count int not null default 7;`,
    ]),
  )
  bodies.set('planted', PLANTED)
  const serves = `-- Serves releases from ${String(servesFrom).padStart(4, '0')} on.`
  await Promise.all(
    [...bodies].map(([name, body], index) =>
      writeFile(path.join(folder, `${FIRST + index}_${name}.sql`), `${serves}\n${body}\n`),
    ),
  )
}

const PLANTED = `create table planted (
  account_id uuid primary key references account, noted_at timestamptz not null default now()
);

-- Outside a transaction:
create index concurrently planted_message on message (account_id, planted_count) where planted_note is null;
create index concurrently planted_event on event (tenant_id, planted_count);
update account_token set planted_note = 'planted' where id in (
  select id from account_token where planted_note is null limit 50);`
