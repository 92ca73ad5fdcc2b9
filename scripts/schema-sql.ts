import type { Client } from 'pg'

/** A table of a migrated database, in PostgreSQL's own words. */
interface SchemaTable {
  name: string
  columns: string[]
  constraints: string[]
  indexes: string[]
  triggers: string[]
  options: string | null
  isUnlogged: boolean
  /** Such as `RANGE (id)`. The partitions are left out: a running service makes and drops them. */
  partitionKey: string | null
}

const TABLES = `
  select c.relname as name,
    array(
      select format('%I %s%s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        case when k.collname is not null then format(' collate %I', k.collname) else '' end,
        case when a.attgenerated = 's' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
          when a.attidentity <> '' then ' generated always as identity'
          when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end,
        case when a.attnotnull then ' not null' else '' end,
        case when a.attstorage <> t.typstorage or a.attstattarget >= 0 then format(' -- storage %s, statistics %s',
          case a.attstorage when 'e' then 'external' when 'p' then 'plain' when 'm' then 'main' else 'extended' end,
          coalesce(nullif(a.attstattarget, -1)::text, 'default')) else '' end)
      from pg_attribute a join pg_type t on t.oid = a.atttypid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      left join pg_collation k on k.oid = a.attcollation and a.attcollation <> t.typcollation
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum
    ) as columns,
    array(
      select format('constraint %I %s', conname, pg_get_constraintdef(oid)) from pg_constraint
      where conrelid = c.oid and contype <> 'n' order by contype = 'p' desc, conname
    ) as constraints,
    array(
      select pg_get_indexdef(indexrelid) from pg_index
      where indrelid = c.oid and not exists (select from pg_constraint where conindid = indexrelid and conrelid = c.oid)
      order by indexrelid::regclass::text
    ) as indexes,
    array(
      select pg_get_triggerdef(oid) from pg_trigger where tgrelid = c.oid and not tgisinternal order by tgname
    ) as triggers,
    array_to_string(c.reloptions, ', ') as options,
    c.relpersistence = 'u' as "isUnlogged",
    pg_get_partkeydef(c.oid) as "partitionKey"
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname`

const SEQUENCES = `
  select format('create sequence %I as %s start %s increment %s cache %s;', sequencename, data_type, start_value,
    increment_by, cache_size) as text
  from pg_sequences where schemaname = 'public' order by sequencename`

const FUNCTIONS = `
  select rtrim(pg_get_functiondef(oid), E'\\n') || ';' as text from pg_proc
  where pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
  order by proname`

const EXTENSIONS = `
  select format('create extension %I;', extname) as text from pg_extension where extname <> 'plpgsql' order by extname`

const HEAD = `-- Made by \`npm run tables\` from the migrations: the schema as it stands, to be read and reviewed. Do not edit.
`

/**
 * Renders the whole schema of a migrated database as one readable file. The migrations build it; nothing runs this
 * file.
 */
export async function renderSchema(client: Client): Promise<string> {
  const texts = async (query: string) =>
    (await client.query<{ text: string }>(query)).rows.map(row => row.text)
  const { rows } = await client.query<SchemaTable>(TABLES)
  const parts = [
    ...(await texts(EXTENSIONS)),
    ...(await texts(SEQUENCES)),
    ...(await texts(FUNCTIONS)),
    ...rows.map(renderTable),
  ]
  return `${HEAD}\n${parts.join('\n\n')}\n`
}

function renderTable(table: SchemaTable): string {
  const { name, columns, constraints, indexes, triggers, options, isUnlogged, partitionKey } = table
  const lines = [...columns, ...constraints]
  const body = lines.map((line, at) => `  ${withComma(line, at === lines.length - 1)}`).join('\n')
  const partitioned = partitionKey ? ` partition by ${partitionKey}` : ''
  const end = `)${partitioned}${options ? ` with (${options})` : ''};`
  const head = `create ${isUnlogged ? 'unlogged ' : ''}table ${name} (`
  return [head, body, end, ...[...indexes, ...triggers].map(text => `${text};`)].join('\n')
}

/** Puts the comma before the comment of a line. */
function withComma(line: string, isLast: boolean): string {
  if (isLast) return line
  const at = line.indexOf(' -- ')
  return at < 0 ? `${line},` : `${line.slice(0, at)},${line.slice(at)}`
}
