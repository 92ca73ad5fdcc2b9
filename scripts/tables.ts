/**
 * Writes `tables.ts` and `schema.sql` of `packages/server/src/database` from a database that was just migrated, and the
 * checksums of new migrations. `--check` writes nothing and fails if a file differs.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { Client } from 'pg'
import { migrate } from '../packages/server/src/database/migrate.ts'
import { readMigrations } from '../packages/server/src/database/migration-file.ts'
import { clientSettings } from '../packages/server/src/database/pool.ts'
import { addChecksums, CHECKSUMS, findChanged } from '../packages/server/test/migration-checksums.ts'
import { startPostgresServer } from '../packages/server/test/postgres-server.ts'
import { renderSchema } from './schema-sql.ts'

const FOLDER = 'packages/server/src/database'

const LISTS_HEAD = `
/**
 * Columns of this release's schema. It selects these and not \`*\`: the result of a prepared \`*\` changes when a newer
 * release adds a column, and PostgreSQL refuses to run it.
 */
export const COLUMNS = `

interface Column {
  table: string
  column: string
  type: string
  nullable: boolean
  hasDefault: boolean
  /** The only values that a check constraint allows. */
  words: string[] | null
}

const TYPES: Record<string, string> = {
  boolean: 'boolean',
  bytea: 'Buffer',
  integer: 'number',
  smallint: 'number',
  bigint: 'Int8',
  real: 'number',
  'double precision': 'number',
  json: 'Json',
  jsonb: 'Json',
  text: 'string',
  tsvector: 'string',
  uuid: 'string',
  date: 'Timestamp',
  'timestamp with time zone': 'Timestamp',
}

const HEAD = `// Made by \`npm run tables\` from the migrations. Do not edit.
import type { ColumnType } from 'kysely'

/** Read as text, since it exceeds what a number holds exactly. */
export type Int8 = ColumnType<string, string | number | bigint, string | number | bigint>
/** Written as JSON text: \`pg\` would send an array as a PostgreSQL array. */
export type Json = ColumnType<unknown, string, string>
export type Timestamp = ColumnType<Date, Date | string, Date | string>
/** May be left out of an insert. */
export type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U>
    ? ColumnType<S, I | undefined, U>
    : ColumnType<T, T | undefined, T>
`

const COLUMNS = `
  select c.relname as "table", a.attname as "column", format_type(a.atttypid, null) as type,
    not a.attnotnull as nullable, a.atthasdef or a.attidentity <> '' as "hasDefault",
    (
      select pg_get_constraintdef(k.oid) from pg_constraint k
      where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
      limit 1
    ) as "check"
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    and not c.relispartition
  order by c.relname, a.attnum`

async function readColumns(client: Client): Promise<Column[]> {
  const { rows } = await client.query<Omit<Column, 'words'> & { check: string | null }>(COLUMNS)
  return rows.map(({ check, ...column }) => ({ ...column, words: wordsOf(check) }))
}

function wordsOf(check: string | null) {
  const list = check && /^CHECK \(\(\w+ = ANY \(ARRAY\[(.*)\]\)\)\)$/.exec(check)?.[1]
  return list ? [...list.matchAll(/'([^']*)'::text/g)].flatMap(match => match[1] ?? []) : null
}

function typeOf({ table, column, type, nullable, hasDefault, words }: Column) {
  const element = type.replace(/\[\]$/, '')
  const plain = words ? words.map(word => `'${word}'`).join(' | ') : TYPES[element]
  if (!plain)
    throw new Error(`${table}.${column} has the type ${type}, which scripts/tables.ts does not know`)
  const whole = type.endsWith('[]') ? `${plain}[]` : plain
  const withNull = nullable ? `${whole} | null` : whole
  return hasDefault ? `Generated<${withNull}>` : withNull
}

function render(columns: Column[]) {
  const tables = Map.groupBy(columns, ({ table }) => table)
  const names = [...tables.keys()]
  const pascal = (name: string) =>
    name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
  const bodies = names.map(name => {
    const lines = (tables.get(name) ?? []).map(column => `  ${column.column}: ${typeOf(column)}`)
    return `export interface ${pascal(name)}Table {\n${lines.join('\n')}\n}\n`
  })
  const index = names.map(name => `  ${name}: ${pascal(name)}Table`).join('\n')
  const lists = names.map(name => {
    const quoted = (tables.get(name) ?? []).map(({ column }) => `'${name}.${column}'`)
    return `  ${name}: [${quoted.join(', ')}],`
  })
  return `${HEAD}\n${bodies.join('\n')}\nexport interface Tables {\n${index}\n}\n${LISTS_HEAD}{\n${lists.join('\n')}\n} as const\n`
}

async function renderFiles(): Promise<Record<string, string>> {
  await using server = await startPostgresServer()
  await migrate(server.address('postgres'))
  const client = new Client(clientSettings(server.address('postgres'), 'waxwing tables'))
  await client.connect()
  try {
    return { 'tables.ts': render(await readColumns(client)), 'schema.sql': await renderSchema(client) }
  } finally {
    await client.end()
  }
}

const isCheck = process.argv.includes('--check')
for (const [name, wanted] of Object.entries(await renderFiles())) {
  const file = new URL(`../${FOLDER}/${name}`, import.meta.url)
  if (!isCheck) await writeFile(file, wanted)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== wanted) {
    console.error(`${FOLDER}/${name} does not fit the migrations. Run "npm run tables".`)
    process.exitCode = 1
  }
}

const migrations = await readMigrations()
const committed = await readFile(CHECKSUMS, 'utf8').catch(() => '')
const checksums = isCheck ? committed : addChecksums(committed, migrations)
if (!isCheck) await writeFile(CHECKSUMS, checksums)
for (const problem of findChanged(checksums, migrations)) {
  console.error(problem)
  process.exitCode = 1
}
