import { randomBytes, randomInt } from 'node:crypto'
import { sql } from 'kysely'
import type { ClientBase, Pool } from 'pg'
import type { FolderIdentity } from './embedded/folder-identity.ts'
import type { Db } from './pool.ts'
import { isWithheld } from './withheld.ts'

type Session = Pick<ClientBase, 'query'>

/**
 * The identity of a database. Loading a dump elsewhere, recovery to a point in time, promoting a standby and putting
 * back a copy of the data folder each change one of these; a restart, VACUUM and migrations change none. Null if it is
 * not known: the role may not read it, or somebody else runs the server.
 */
interface Place {
  /** The identifier of the cluster, from initdb. */
  system: string | null
  /**
   * The timeline of the write-ahead log. Every recovery that ends before the log's end, and every promotion, starts a
   * new one.
   */
  timeline: string | null
  /** Oids of the database and of the table `feed_epoch`. */
  database: string
  table: string
  /** The folder of the cluster. */
  inode: string | null
  birth: string | null
}

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
 */
const restored = () => `
  with raised as (
    select setval('event_id', ${randomInt(OFFSET_MAX)} + greatest(
      last_value + 1000000000, (extract(epoch from clock_timestamp()) * 1000000)::bigint
    )) as id from event_id
  )
  update feed_epoch set epoch = '${newEpoch()}' from raised`

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
  await sql.raw(restored()).execute(db)
}

/**
 * Like `recordRestore`, in the transaction of a session, and for the current identity of the database. The next process
 * that opens it adds the folder.
 */
export async function recordRestoreHere(session: Session): Promise<void> {
  await session.query(restored())
  await session.query('update feed_epoch set place = $1', [
    JSON.stringify(await readPlace(session, noFolder)),
  ])
}

/** Checks on each connection whether the database was restored to an earlier state. */
export interface RestoreWatch {
  /** Must be called once, after the migrations and before anything else is written. */
  begin(pool: Pool): Promise<void>
  /** Must be called for each new connection of the pool; does nothing before `begin`. */
  onConnect(session: Session): Promise<void>
}

export function watchForRestore(onRestored: () => void, findFolder: FindFolder = noFolder): RestoreWatch {
  let hasBegun = false
  let known = ''
  async function look(session: Session) {
    const place = await readPlace(session, findFolder)
    const text = JSON.stringify(place)
    if (text === known) return
    const isRestored = await notePlace(session, place)
    known = text
    if (isRestored) onRestored()
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
  }
}

/** Throws on a standby: a connection opened before its promotion would survive the promotion unnoticed. */
async function readPlace(session: Session, findFolder: FindFolder): Promise<Place> {
  const { isStandby, ...inside } = await askForPlace(session)
  if (isStandby) throw new Error('The database is a standby, or is still recovering')
  const { inode, birth } = (await findFolder()) ?? { inode: null, birth: null }
  return { ...inside, inode, birth }
}

type Inside = Omit<Place, keyof FolderIdentity> & { isStandby: boolean }

async function askForPlace(session: Session): Promise<Inside> {
  for (const question of QUESTIONS) {
    try {
      return requireRow((await session.query<Inside>(question)).rows)
    } catch (error) {
      if (!isWithheld(error)) throw error
    }
  }
  return requireRow((await session.query<Inside>(LAST_QUESTION)).rows)
}

/** Compares with the stored identity, in one process at a time. Returns true if the database was restored. */
async function notePlace(session: Session, place: Place): Promise<boolean> {
  await session.query('begin')
  try {
    const { rows } = await session.query<{ place: StoredPlace | null }>(
      'select place from feed_epoch for update',
    )
    const before = requireRow(rows).place
    const isRestored = before !== null && isElsewhere(before, place)
    if (isRestored) await session.query(restored())
    await session.query('update feed_epoch set place = $1', [JSON.stringify(place)])
    await session.query('commit')
    return isRestored
  } catch (error) {
    await session.query('rollback').catch(() => {})
    throw error
  }
}

/** An earlier release may have stored less. */
type StoredPlace = Partial<Place>

/** Values that were unknown then or are unknown now are not compared. */
function isElsewhere(before: StoredPlace, now: Place): boolean {
  const keys = Object.keys(now) as (keyof Place)[] // of a literal shape
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
