import type { Pool, PoolClient } from 'pg'
import { type Migration, newestOf } from './migration-file.ts'

/** Thrown with an explanation if a database cannot be used as it is. */
export class MigrationRefused extends Error {}

/** A migration that was applied to a database, as the table `schema_migration` has it. */
export interface AppliedMigration {
  version: number
  name: string
  checksum: string
  /** As in `Migration`. Null also if it was applied before releases recorded it. */
  serves: number | null
  /** The product version that applied it, if it is known. */
  release: string | null
  /** False while statements outside its transaction are still to be run. */
  isFinished: boolean
}

type Queryable = Pick<Pool | PoolClient, 'query'>

export async function readApplied(database: Queryable): Promise<Map<number, AppliedMigration>> {
  // A database that was never migrated by this release, or a newer one, has only the first three columns.
  const { rows } = await database.query<AppliedMigration>(
    `select version, name, checksum, (whole ->> 'serves')::int as serves, whole ->> 'release' as release,
       coalesce((whole ->> 'is_finished')::boolean, true) as "isFinished"
     from schema_migration, to_jsonb(schema_migration) as whole order by version`,
  )
  return new Map(rows.map(row => [row.version, row]))
}

/**
 * Refuses a database whose schema does not serve the release that has these migrations, and one to which a migration
 * was applied with other content.
 */
export function requireFit(applied: ReadonlyMap<number, AppliedMigration>, ours: readonly Migration[]): void {
  const known = new Map(ours.map(migration => [migration.version, migration]))
  const newest = newestOf(ours)
  for (const row of applied.values()) {
    const migration = known.get(row.version)
    if (!migration) requireServed(row, newest)
    else if (migration.checksum !== row.checksum) refuseDifferent(row)
  }
}

function refuseDifferent({ name, release }: AppliedMigration): never {
  throw new MigrationRefused(
    `Migration ${name} was applied to this database${release === null ? '' : ` by release ${release}`} with different ` +
      'content. Either this program or the one that applied it is not an unmodified release. Nothing was changed. Run the ' +
      'program that applied it, or start on a new database, which reads mail from its servers again. To keep the data, ' +
      'see "A migration that differs" in docs/operations.md.',
  )
}

function requireServed({ name, serves, release }: AppliedMigration, newest: number): void {
  if (serves !== null && serves <= newest) return
  const by = release === null ? 'by a newer release of Waxwing' : `by release ${release} of Waxwing`
  const which =
    serves === null ? '' : ` Since then it serves only releases that have migration ${fourDigits(serves)};`
  throw new MigrationRefused(
    `The database was changed ${by} (migration ${name}), and no longer serves this release.${which}` +
      `${serves === null ? ' The' : ' the'} newest migration of this one is ${fourDigits(newest)}. ` +
      `Run ${release === null ? 'that release' : `release ${release}`}, or a newer one.`,
  )
}

/** Like `requireFit` for a schema that was found to fit: refuses it if it was migrated further meanwhile. */
export async function requireStillFit(database: Queryable, newest: number): Promise<void> {
  const { rows } = await database.query<AppliedMigration>(
    `select name, (whole ->> 'serves')::int as serves, whole ->> 'release' as release
     from schema_migration, to_jsonb(schema_migration) as whole
     where version > $1 and coalesce((whole ->> 'serves')::int > $1, true) order by version limit 1`,
    [newest],
  )
  if (rows[0]) requireServed(rows[0], newest)
}

/** The migrations that a database lacks, and those of which a part is still to be run. */
export function listMissing(
  applied: ReadonlyMap<number, AppliedMigration>,
  ours: readonly Migration[],
): Migration[] {
  return ours.filter(({ version }) => applied.get(version)?.isFinished !== true)
}

/** The name under which a process is seen in `pg_stat_activity` for as long as it runs. */
export function processName(as: 'service' | 'command', newest: number): string {
  return `waxwing ${as}, process ${process.pid}, schema ${fourDigits(newest)}`
}

/**
 * Refuses to apply migrations while processes run that the schema would no longer serve. Processes of releases that did not
 * record their schema count as older.
 */
export async function requireNoneLeftBehind(
  database: Queryable,
  missing: readonly Migration[],
): Promise<void> {
  const oldest = Math.max(0, ...missing.map(({ serves, version }) => serves ?? version))
  const { rows } = await database.query<{ name: string }>(
    `select application_name as name from pg_stat_activity
     where datname = current_database() and application_name ~ '^waxwing (service|command), process '
       and coalesce(substring(application_name from ', schema (\\d{4})$')::int, 0) < $1
     order by application_name limit 1`,
    [oldest],
  )
  if (rows.length === 0) return
  throw new MigrationRefused(
    `A process of an older release uses the database ("${rows[0]!.name}"), and would not work on the schema of this ` +
      'one. Stop every process of that release, and start again. Nothing was changed.',
  )
}

function fourDigits(version: number): string {
  return String(version).padStart(4, '0')
}
