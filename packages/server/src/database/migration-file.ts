import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'

/** A change of the schema, with the contents of its file. A release is named by the newest migration that it has. */
export interface Migration {
  version: number
  name: string
  checksum: string
  /** The oldest release that works on a database with this migration; null if only releases that have it do. */
  serves: number | null
  /** Runs in one transaction. */
  sql: string
  /** Run after it, each by itself. Each of these can be run again if it was interrupted. */
  outside: readonly string[]
}

const FOLDER = new URL('./migrations/', import.meta.url)
const SERVES = /^-- Serves releases from (\d{4}) on\b/
const OUTSIDE = /^-- Outside a transaction:$/m

/** The migrations of this release, in order. A file is named `0001_what_it_does.sql`. */
export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async name => parseMigration(name, await readFile(new URL(name, folder), 'utf8'))),
  )
}

export function parseMigration(fileName: string, text: string): Migration {
  const [sql = '', outside = ''] = text.split(OUTSIDE)
  const serves = SERVES.exec(text)?.[1]
  return {
    version: Number.parseInt(fileName, 10),
    name: fileName.replace(/\.sql$/, ''),
    checksum: createHash('sha256').update(text).digest('hex'),
    serves: serves === undefined ? null : Number(serves),
    sql,
    outside: splitStatements(outside),
  }
}

/** The rules for migrations forbid what this would split wrongly: semicolons and dashes in quotes. */
function splitStatements(text: string): string[] {
  return text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
}

/** The number of the newest migration, by which a release is named. */
export function newestOf(migrations: readonly Migration[]): number {
  return Math.max(0, ...migrations.map(({ version }) => version))
}
