import { type RawBuilder, sql } from 'kysely'
import { runAlone } from '../database/alone.ts'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import type { Pulse } from '../processes/pulse.ts'
import { WokenLoop } from '../processes/woken-loop.ts'

/*
 * Times that were set while the clock of the database was ahead. When it is right again, whatever waits for them would
 * wait for as long as it was ahead.
 */

/** Times of a table, or of some of its rows, for which something waits. */
export interface StoredTimes {
  table: string
  /** The rows that matter, if an index finds them. */
  among?: RawBuilder<boolean>
  /** Columns with the time until which something waits. A time that was set in the future counts again from now on. */
  waits?: Readonly<Record<string, Wait>>
  /** Columns with the time at which something happened. A time ahead counts as now. */
  past?: readonly string[]
  /**
   * The same, for columns from which on something is looked for: one that lies ahead counts as this many seconds before
   * now, since what came before it would not be found.
   */
  since?: Readonly<Record<string, number>>
}

/**
 * How to tell when a time was set: by a column that holds it, or since each is set this far ahead.
 * Where `unless` holds, the time is kept, whatever the clock shows.
 */
export type Wait = { setAt: string; unless?: RawBuilder<boolean> } | { seconds: number }

const BATCH_ROWS = 1_000
/** The safeguard for a clock that is ahead for less than the time between two pulses. */
const POLL_SECONDS = 3_600
/** Rows that were locked, and what another process is busy with, are looked at again after this time. */
const AGAIN_SECONDS = 1
/** A look reads much: one that fails again and again, or waits for transactions, is not repeated more often. */
const RETRY_SECONDS_MAX = 60
/** Transactions that take longer are not waited for: the next look of the hour finds their times. */
const TRANSACTION_SECONDS_MAX = 600

export interface VoidTimesOptions {
  db: Db
  pulse: Pulse
  log: Logger
  times: readonly StoredTimes[]
}

/**
 * Looks for times that were set in the future when it begins, when the clock was set back, and once an hour. Resolves
 * after the first look, whether it succeeded or not.
 */
export async function startVoidingTimes(options: VoidTimesOptions): Promise<AsyncDisposable> {
  const { db, pulse, log } = options
  let search = newSearch()
  const loop = new WokenLoop({
    async look(signal) {
      let seconds = AGAIN_SECONDS
      await runAlone(db, 'void_times', async () => {
        seconds = await proceed(search, options, signal)
      })
      if (seconds === POLL_SECONDS) search = newSearch()
      return seconds
    },
    listen: wake =>
      pulse.onSetBack(() => {
        search.isOutdated = true
        wake()
      }),
    failure: 'Could not look for times that were set while the clock was ahead',
    retrySecondsMax: RETRY_SECONDS_MAX,
    log,
  })
  await loop.firstLook
  return loop
}

/** The looks that follow when the clock was set back. */
interface Search {
  begunAt: number
  /** Transactions of the time before the first look, which may still commit times of the wrong clock; null: not known. */
  waitsFor: readonly string[] | null
  /** Set when the clock was set back once more. */
  isOutdated: boolean
  waitSeconds: number
}

const newSearch = (): Search => ({
  begunAt: performance.now(),
  waitsFor: null,
  isOutdated: false,
  waitSeconds: AGAIN_SECONDS,
})

const FOUND =
  'The clock of the database was ahead. What was set to wait meanwhile waits for its time from now on'
const FOUND_LATER =
  'More was found that was set to wait while the clock was ahead. It waits for its time from now on'

/** Looks once. @returns seconds until the next look, which is soon as long as void times may be left */
async function proceed(search: Search, options: VoidTimesOptions, signal: AbortSignal): Promise<number> {
  if (search.isOutdated) Object.assign(search, newSearch())
  const { waitsFor } = search
  const underWay = await listTransactions(options.db)
  search.waitsFor ??= underWay
  const isDone = await voidTimes(options, waitsFor === null ? FOUND : FOUND_LATER, signal)
  if (!isDone) return AGAIN_SECONDS
  const isLate = performance.now() - search.begunAt > TRANSACTION_SECONDS_MAX * 1_000
  if (isLate || !search.waitsFor.some(id => underWay.includes(id))) return POLL_SECONDS
  const seconds = search.waitSeconds
  search.waitSeconds = Math.min(2 * seconds, RETRY_SECONDS_MAX)
  return seconds
}

/** The ids of the transactions under way that have changed something. */
async function listTransactions(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select backend_xid::text as id from pg_stat_activity
    where datname = current_database() and backend_xid is not null
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** Returns false if rows that are locked are left. A table that fails does not keep the others from being looked at. */
async function voidTimes(
  { db, log, times }: VoidTimesOptions,
  report: string,
  signal: AbortSignal,
): Promise<boolean> {
  const counts = new Map<string, number>()
  const failures: unknown[] = []
  let isDone = true
  const voidAll = async (stored: StoredTimes) => {
    for (;;) {
      if (signal.aborted) return
      const { found, changed } = await voidBatch(db, stored)
      if (changed > 0) counts.set(stored.table, (counts.get(stored.table) ?? 0) + changed)
      if (found > changed) isDone = false
      if (changed === 0) return
    }
  }
  for (const stored of times) await voidAll(stored).catch((error: unknown) => failures.push(error))
  const count = [...counts.values()].reduce((sum, each) => sum + each, 0)
  if (count > 0) log.warn({ names: [...counts.keys()], count }, report)
  if (failures.length > 0) throw failures[0]
  return isDone
}

/** @returns how many rows with void times it found, at most a batch, and how many of them nobody had locked */
async function voidBatch(db: Db, stored: StoredTimes): Promise<{ found: number; changed: number }> {
  const { table, among = sql`true` } = stored
  const columns = columnsOf(stored)
  const isVoid = sql.join(
    columns.map(column => column.isVoid),
    sql` or `,
  )
  const setters = columns.map(
    ({ name, isVoid: isOwn, value }) =>
      sql`${sql.ref(name)} = case when ${isOwn} then ${value} else ${sql.ref(name)} end`,
  )
  const { rows } = await sql<{ found: number; changed: number }>`
    with moment as materialized (select clock_timestamp() as now), found as materialized (
      select ctid from ${sql.table(table)} where ${among} and (${isVoid}) limit ${BATCH_ROWS}
    ), free as materialized (
      select ctid from ${sql.table(table)} where ctid in (select ctid from found) and (${isVoid}) for update skip locked
    ), changed as (
      update ${sql.table(table)} set ${sql.join(setters)} where ctid in (select ctid from free) and (${isVoid}) returning 1
    )
    select (select count(*)::int from found) as found, (select count(*)::int from changed) as changed
  `.execute(db)
  // A statement without FROM has one row.
  return rows[0]!
}

interface Column {
  name: string
  isVoid: RawBuilder<boolean>
  /** Value that replaces a void time. */
  value: RawBuilder<unknown>
}

const NOW = sql`(select now from moment)`

function columnsOf({ waits = {}, past = [], since = {} }: StoredTimes): Column[] {
  const waiting = Object.entries(waits)
  const setAt = new Set(waiting.flatMap(([, wait]) => ('setAt' in wait ? [wait.setAt] : [])))
  return [
    ...waiting.map(([name, wait]) => waitingColumn(name, wait)),
    // A time of setting that lies ahead becomes the present.
    ...[...new Set([...past, ...setAt])].map(name => ({
      name,
      isVoid: sql<boolean>`${sql.ref(name)} > ${NOW}`,
      value: NOW,
    })),
    ...Object.entries(since).map(([name, seconds]) => ({
      name,
      isVoid: sql<boolean>`${sql.ref(name)} > ${NOW}`,
      value: sql`${NOW} - make_interval(secs => ${seconds})`,
    })),
  ]
}

function waitingColumn(name: string, wait: Wait): Column {
  const column = sql.ref(name)
  if ('seconds' in wait) {
    const latest = sql`${NOW} + make_interval(secs => ${wait.seconds})`
    return { name, isVoid: sql`${column} > ${latest}`, value: latest }
  }
  const setAt = sql.ref(wait.setAt)
  const value = sql`${NOW} + (${column} - ${setAt})`
  const unless = wait.unless ? sql`and not ${wait.unless}` : sql``
  return { name, isVoid: sql`(${column} is not null and ${setAt} > ${NOW} ${unless})`, value }
}
