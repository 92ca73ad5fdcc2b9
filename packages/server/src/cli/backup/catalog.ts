import type { Client } from 'pg'
import { ask } from './bounded.ts'

/** A table with the columns that COPY transfers. */
export interface CopiedTable {
  name: string
  columns: string[]
}

/** Running processes exist only now, and each start of a process adds what recurs. */
export const LEFT_OUT = ['instance', 'recurring_task']
/** Migrations are in the header of the backup. */
const NOT_COPIED = ['schema_migration', ...LEFT_OUT]

const OF_EXTENSION = `exists (
  select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')`

/** Settings under which a text dump means the same everywhere. */
export const SESSION_SETTINGS = `
  set client_encoding = 'UTF8'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set timezone = 'UTC';
  set extra_float_digits = 3; set statement_timeout = 0; set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0`

/**
 * Lists the tables so that each comes after those that it refers to. Columns that refer to tables that are not copied
 * are left out: they are null in the copy.
 */
export async function listTables(client: Client): Promise<CopiedTable[]> {
  const { rows } = await ask<CopiedTable & { refers: string[] }>(
    client,
    `select c.relname as name,
       array(
         select attname::text from pg_attribute
         where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = ''
           and not exists (
             select from pg_constraint join pg_class other on other.oid = confrelid
             where conrelid = c.oid and contype = 'f' and attnum = any(conkey) and other.relname = any($1)
           )
         order by attnum
       ) as columns,
       array(
         select distinct other.relname::text from pg_constraint join pg_class other on other.oid = confrelid
         where conrelid = c.oid and contype = 'f' and confrelid <> c.oid
       ) as refers
     from pg_class c
     where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relpersistence = 'p'
       and not relispartition and relname <> all($1) and not ${OF_EXTENSION}
     order by relname`,
    [NOT_COPIED],
  )
  const ordered: CopiedTable[] = []
  const done = new Set(NOT_COPIED)
  while (ordered.length < rows.length) {
    const ready = rows.filter(row => !done.has(row.name) && row.refers.every(name => done.has(name)))
    if (ready.length === 0) throw new Error('Tables refer to each other in a circle')
    for (const { name, columns } of ready) {
      ordered.push({ name, columns })
      done.add(name)
    }
  }
  return ordered
}

export async function listSequences(client: Client) {
  const { rows } = await ask<{ name: string; last: string; isCalled: boolean }>(
    client,
    `select sequencename as name, coalesce(last_value, start_value)::text as last, last_value is not null as "isCalled"
     from pg_sequences where schemaname = current_schema() order by 1`,
  )
  return rows
}

/** Returns whether the database has tables, and whether they belong to an installation with data. */
export async function lookForData(client: Client): Promise<'empty' | 'schema' | 'data' | 'foreign'> {
  const { rows } = await ask<{ tables: number; isOurs: boolean }>(
    client,
    `select count(*)::int as tables, coalesce(bool_or(relname = 'schema_migration'), false) as "isOurs"
     from pg_class c where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not ${OF_EXTENSION}`,
  )
  const { tables = 0, isOurs = false } = rows[0] ?? {}
  if (tables === 0) return 'empty'
  if (!isOurs) return 'foreign'
  const { rowCount } = await ask(client, 'select from tenant limit 1').catch(() => ({ rowCount: 0 }))
  return rowCount ? 'data' : 'schema'
}

/** Drops everything in the schema except what belongs to extensions. */
export const DROP_EVERYTHING = `do $$
declare
  statement text;
begin
  for statement in
    select format('drop %s if exists %s cascade',
      case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
      c.oid::regclass)
    from pg_class c
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
      and not relispartition and not exists (
        -- a partitioned table depends on its own key
        select from pg_depend where objid = c.oid and refobjid <> c.oid and deptype in ('a', 'i')
      )
      and not ${OF_EXTENSION}
    union all
    select format('drop routine if exists %s cascade', p.oid::regprocedure)
    from pg_proc p
    where pronamespace = current_schema()::regnamespace
      and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
    union all
    select format('drop type if exists %s cascade', t.oid::regtype)
    from pg_type t
    where typnamespace = current_schema()::regnamespace and typtype in ('d', 'e')
      and not exists (select from pg_depend where objid = t.oid and deptype = 'e')
  loop
    execute statement;
  end loop;
end
$$`
