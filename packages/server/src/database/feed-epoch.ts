import type { DatabaseIdentity, Session, StoredIdentity } from './identity.ts'
import { randomBytes, randomInt } from 'node:crypto'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { FolderIdentity } from './embedded/folder-identity.ts'
import type { Db } from './pool.ts'
import { hasEveryCommit, readRecovery, recordStandby, type StandbyState } from './promotion.ts'
import { isWithheld } from './withheld.ts'

/** Identifies the folder of the cluster; null if another program runs the server. */
export type FindFolder = () => Promise<FolderIdentity | null>

const noFolder: FindFolder = async () => null

const EPOCH_BYTES = 6

/** About 10^12, so that ids stay below 2^53 through thousands of restores. */
const OFFSET_MAX = 2 ** 40

/**
 * The next event id lies above everything that any history of this database can have used. A billion covers what was
 * appended after the backup. The microseconds since 1970 and a random offset keep several restores of one backup apart,
 * even if the backup's own ids are ahead of the clock because it was restored before.
 * @param isComplete whether the database has every commit of the epoch before: a promotion that lost nothing
 */
function restored({ isComplete }: { isComplete: boolean }): string {
  const epoch = newEpoch()
  const continues = isComplete
    ? `case when noticed_epoch = epoch then continues else '{}' end || epoch`
    : `'{}'`
  return `
  with raised as (
    select setval('event_id', ${randomInt(OFFSET_MAX)} + greatest(
      last_value + 1000000000, (extract(epoch from clock_timestamp()) * 1000000)::bigint
    )) as id from event_id
  )
  update feed_epoch set epoch = '${epoch}', noticed_epoch = '${epoch}', noticed_at = clock_timestamp(),
    continues = ${continues}, standby = null
  from raised`
}

const OIDS = `
  pg_is_in_recovery() as "isStandby",
  (select oid from pg_database where datname = current_database())::text as database,
  'feed_epoch'::regclass::oid::text as "table"`
/** The timeline in the control file lags behind a promotion until the next checkpoint; the log's does not. */
const TIMELINE = `case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end`
const SYSTEM = `(select system_identifier::text from pg_control_system())`

/** Hosted PostgreSQL may hide some of this from its users, so each query asks for less than the one before. */
const QUESTIONS = [
  `select ${OIDS}, ${SYSTEM} as system, ${TIMELINE} as timeline`,
  `select ${OIDS}, null as system, ${TIMELINE} as timeline`,
  `select ${OIDS}, ${SYSTEM} as system, null as timeline`,
]
const LAST_QUESTION = `select ${OIDS}, null as system, null as timeline`

/** Starts a new history of the feed: all cursors issued before are refused, and no event id is used twice. */
export async function recordRestore(db: Db): Promise<void> {
  await sql.raw(restored({ isComplete: false })).execute(db)
}

/**
 * Like `recordRestore`, in the transaction of a session, and for the current identity of the database. The next process
 * that opens it adds the folder.
 */
export async function recordRestoreHere(session: Session): Promise<void> {
  await session.query(restored({ isComplete: false }))
  await session.query('update feed_epoch set place = $1', [
    JSON.stringify(await readIdentity(session, noFolder)),
  ])
}

/** Checks on each connection whether the database was restored to an earlier state. */
export interface RestoreWatch {
  /** Must be called once, after the migrations and before anything else is written. */
  begin(pool: Pool): Promise<void>
  /** Must be called for each new connection of the pool; does nothing before `begin`. */
  onConnect(session: Session): Promise<void>
  /** Notes whether commits wait for a standby, which decides what a promotion may have lost. */
  noteStandby(db: Db): Promise<StandbyState>
}

export interface RestoreWatchOptions {
  /** The operator promises that a promotion loses no commit. */
  isSynchronous: boolean
  /** @param restore `isComplete`: it was a promotion that lost no commit */
  onRestored(restore: { isComplete: boolean }): void
  /** By default another program runs the server. */
  findFolder?: FindFolder | undefined
}

export function watchForRestore({
  isSynchronous,
  onRestored,
  findFolder = noFolder,
}: RestoreWatchOptions): RestoreWatch {
  let hasBegun = false
  let known = ''
  let noted: StandbyState | null = null
  async function look(session: Session) {
    const identity = await readIdentity(session, findFolder)
    const text = JSON.stringify(identity)
    if (text === known) return
    const recovery = isSynchronous ? await readRecovery(session) : null
    const restore = await noteIdentity(session, identity, (before, stored) =>
      recovery === null ? false : hasEveryCommit({ before, now: identity, notes: [stored, noted], recovery }),
    )
    known = text
    if (restore) onRestored(restore)
  }
  return {
    async begin(pool) {
      const client = await pool.connect()
      try {
        await look(client)
        hasBegun = true
      } finally {
        client.release()
      }
    },
    async onConnect(session) {
      if (hasBegun) await look(session)
    },
    // A note whose commit was not confirmed may have waited for a standby that is gone: it does not count.
    noteStandby: async db => (noted = await recordStandby(db)),
  }
}

/** Throws on a standby: a connection opened before its promotion would survive the promotion unnoticed. */
async function readIdentity(session: Session, findFolder: FindFolder): Promise<DatabaseIdentity> {
  const { isStandby, ...inside } = await askForIdentity(session)
  if (isStandby) throw new Error('The database is a standby, or is still recovering')
  const { inode, birth } = (await findFolder()) ?? { inode: null, birth: null }
  return { ...inside, inode, birth }
}

type Inside = Omit<DatabaseIdentity, keyof FolderIdentity> & { isStandby: boolean }

async function askForIdentity(session: Session): Promise<Inside> {
  for (const question of QUESTIONS) {
    try {
      return requireRow((await session.query<Inside>(question)).rows)
    } catch (error) {
      if (!isWithheld(error)) throw error
    }
  }
  return requireRow((await session.query<Inside>(LAST_QUESTION)).rows)
}

/**
 * Compares with the stored identity, in one process at a time. Returns null unless the database was restored.
 * @param isComplete whether no commit is lost, by the identity before and the note of its standby
 */
async function noteIdentity(
  session: Session,
  identity: DatabaseIdentity,
  isComplete: (before: StoredIdentity, standby: string | null) => boolean,
): Promise<{ isComplete: boolean } | null> {
  await session.query('begin')
  try {
    const { rows } = await session.query<{ place: StoredIdentity | null; standby: string | null }>(
      'select place, standby from feed_epoch for update',
    )
    const { place: before, standby } = requireRow(rows)
    const isRestored = before !== null && differs(before, identity)
    const restore = isRestored ? { isComplete: isComplete(before, standby) } : null
    if (restore) await session.query(restored(restore))
    await session.query('update feed_epoch set place = $1', [JSON.stringify(identity)])
    await session.query('commit')
    return restore
  } catch (error) {
    await session.query('rollback').catch(() => {})
    throw error
  }
}

/** Values that were unknown then or are unknown now are not compared. */
function differs(before: StoredIdentity, now: DatabaseIdentity): boolean {
  const keys = Object.keys(now) as (keyof DatabaseIdentity)[] // of a literal shape
  return keys.some(key => (before[key] ?? null) !== null && now[key] !== null && before[key] !== now[key])
}

function newEpoch(): string {
  return randomBytes(EPOCH_BYTES).toString('base64url')
}

function requireRow<Row>(rows: Row[]): Row {
  const [row] = rows
  if (!row) throw new Error('The table feed_epoch is empty')
  return row
}
