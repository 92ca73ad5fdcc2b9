import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { recordRestoreHere } from '../../database/feed-epoch.ts'
import { SETTLED_SECONDS } from '../../database/kept-session.ts'
import { applyMigrations, LOCK_WAIT_SECONDS, lockOutOthers } from '../../database/migrate.ts'
import { type Migration, readMigrations } from '../../database/migration-file.ts'
import { clientSettings, type DatabaseAddress } from '../../database/pool.ts'
import type { ObjectStore } from '../../kit/blobs/object-store.ts'
import { markOfRestored, RECORD_RESTORED_BLOBS } from '../../start/blob-mark.ts'
import { CommandError } from '../command-error.ts'
import {
  type BackupContents,
  type BackupHeader,
  type BackupRecord,
  parse,
  readBackup,
  storedFile,
  table,
} from './backup-file.ts'
import { ask, LONG_SECONDS, STALL_SECONDS, within } from './bounded.ts'
import type { StagedFile, Staging } from './blob-files.ts'
import { DROP_EVERYTHING, listTables, lookForData, SESSION_SETTINGS } from './catalog.ts'
import { type CopyIn, copyIn } from './copy.ts'
import type { Progress } from './progress.ts'

export interface RestoreOptions {
  file: string
  contents: BackupContents
  address: DatabaseAddress
  objects: ObjectStore
  openStaging: () => Promise<Staging>
  /** Whether existing data may be deleted. */
  mayReplace: boolean
  /** Called when everything except the commit is done. */
  beforeCommit: () => void
  progress: Progress
}

const CONNECT_SECONDS = 10
/** Nobody who may run beside a restore holds a table for longer. */
const LOCK_TIMEOUT_SECONDS = 60

/** Returns the migrations of the backup, and those that this release adds. Refuses a newer schema. */
export async function planMigrations({ migrations, release }: BackupHeader) {
  const known = await readMigrations()
  for (const { version, name, checksum } of migrations) {
    const ours = known.find(migration => migration.version === version)
    if (!ours) {
      throw new CommandError(
        `The backup was made by release ${release} and has migration ${name}, which this release does not know. ` +
          'Restore it with that release, or a newer one.',
      )
    }
    if (ours.checksum !== checksum) {
      throw new CommandError(
        `Migration ${name} has different content in the backup, which release ${release} made. Either this program or that ` +
          'one is not an unmodified release. Restore the backup with the program that made it, and see "A migration that ' +
          'differs" in docs/operations.md.',
      )
    }
  }
  const has = ({ version }: Migration) => migrations.some(migration => migration.version === version)
  return { first: known.filter(has), later: known.filter(migration => !has(migration)) }
}

/**
 * Loads the data, all or nothing: one transaction covers everything, and new files are prepared beside the old ones.
 */
export async function restoreBackup(options: RestoreOptions): Promise<void> {
  const { contents, address, mayReplace } = options
  const { first, later } = await planMigrations(contents.header)
  const client = new Client({
    ...clientSettings(address, 'waxwing restore'),
    connectionTimeoutMillis: CONNECT_SECONDS * 1000,
  })
  client.on('error', () => {}) // the query in progress rejects with the same error
  await client.connect()
  try {
    await ask(client, SESSION_SETTINGS)
    await ask(client, `set lock_timeout = '${LOCK_TIMEOUT_SECONDS}s'`)
    // First, so that a service that starts from now on waits for the end of the restore.
    await within(client, LOCK_WAIT_SECONDS + STALL_SECONDS, lockOutOthers(client))
    await requireAlone(client)
    await requireRoom(client, mayReplace)
    const mark = await markOfRestored(options.objects)
    await using staging = await options.openStaging()
    await ask(client, 'begin')
    await within(client, LONG_SECONDS, client.query(DROP_EVERYTHING))
    await within(client, LONG_SECONDS, applyMigrations(client, first))
    await bringIn(client, staging, options)
    await within(client, LONG_SECONDS, applyMigrations(client, later))
    await within(client, STALL_SECONDS, recordRestoreHere(client))
    await ask(client, RECORD_RESTORED_BLOBS, mark)
    options.beforeCommit()
    await staging.swap()
    await within(client, LONG_SECONDS, client.query('commit'))
    staging.keep()
    await within(client, LONG_SECONDS, client.query('analyze'))
  } finally {
    await client.end()
  }
}

/** Refuses if another process uses the database. Every service and command holds a connection as long as it runs. */
async function requireAlone(client: Client) {
  await sleep(SETTLED_SECONDS * 1000)
  const { rows } = await ask<{ name: string }>(
    client,
    `select application_name as name from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name like 'waxwing %'
     order by application_name desc limit 1`,
  )
  if (rows[0]) {
    throw new CommandError(
      `Another Waxwing process uses the database ("${rows[0].name}"). Stop every service and command, and restore again.`,
    )
  }
}

async function requireRoom(client: Client, mayReplace: boolean) {
  const found = await lookForData(client)
  if (found === 'foreign') {
    throw new CommandError(
      'The database contains tables that do not belong to Waxwing. Give it a database of its own.',
    )
  }
  if (found === 'data' && !mayReplace) {
    throw new CommandError(
      'There is already an installation with data here. Restore into an empty one, or add --replace to delete its data.',
    )
  }
}

/** Loads the records, and compares them with what was checked before: the file may have changed in between. */
async function bringIn(client: Client, staging: Staging, options: RestoreOptions) {
  const { file, contents, progress } = options
  const tables = await listTables(client)
  const names = tables.map(({ name }) => client.escapeIdentifier(name)).join(', ')
  await ask(client, `truncate ${names} cascade`)
  const counted: Record<string, number> = {}
  await using open = openTarget(client, staging, counted)
  for await (const record of readBackup(file)) {
    progress.tell('Restored', record.content.length)
    await open.take(record)
  }
  await open.close()
  const lacking = Object.entries(contents.ending.rows).filter(([name, rows]) => counted[name] !== rows)
  if (lacking.length > 0) {
    throw new CommandError(
      `The tables ${lacking.map(([name]) => name).join(', ')} were loaded incompletely. Nothing was changed.`,
    )
  }
  for (const { name, last, isCalled } of contents.ending.sequences) {
    await ask(client, 'select setval($1::regclass, $2::bigint, $3)', [
      client.escapeIdentifier(name),
      last,
      isCalled,
    ])
  }
}

/** Writes records to the table or file that was announced last. */
function openTarget(client: Client, staging: Staging, counted: Record<string, number>) {
  let rows: { name: string; copy: CopyIn } | null = null
  let stored: StagedFile | null = null
  async function close() {
    if (rows) counted[rows.name] = await rows.copy.end()
    rows = null
    await stored?.commit()
    stored = null
  }
  return {
    async take({ kind, content }: BackupRecord) {
      if (kind === 'R') return rows?.copy.write(content)
      if (kind === 'F') return stored?.write(content)
      await close()
      if (kind === 'T') {
        const described = parse(table, content)
        rows = { name: described.name, copy: copyIn(client, described) }
      }
      if (kind === 'B') stored = await staging.create(parse(storedFile, content).key)
      return undefined
    },
    close,
    [Symbol.asyncDispose]: async () => void (await stored?.abort()),
  }
}
