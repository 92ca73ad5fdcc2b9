import { sql } from 'kysely'
import { type Database, type DatabaseAddress, type Db, openDatabase } from '../src/database/pool.ts'
import { openTestDatabase } from './open-database.ts'

export interface TurnedClock extends AsyncDisposable {
  database: Database
  db: Db
  /** Sets the clock ahead by this interval, or back where it is negative, for everything that the database does. */
  turn(interval: string): Promise<unknown>
}

/**
 * The functions that return the time, with their volatility. A transaction or statement keeps the time at which it began,
 * also if the clock is turned meanwhile.
 */
const FUNCTIONS = [
  ['clock_timestamp', 'volatile'],
  ['now', 'stable'],
  ['transaction_timestamp', 'stable'],
  ['statement_timestamp', 'stable'],
] as const

/** A database whose clock is turned as the test likes. */
export async function openTurnedClock(): Promise<TurnedClock> {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await openTestDatabase())
  await makeClockTurnable(database.address)
  const owned = opened.move()
  return {
    database,
    db: database.db,
    turn: interval => turnClock(database.db, interval),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Sets the clock of a database ahead by this interval, or back where it is negative. */
export function turnClock(db: Db, interval: string): Promise<unknown> {
  return sql`insert into clock values (${interval}::interval, pg_catalog.clock_timestamp())`.execute(db)
}

/** Lets the clock of a database that was migrated be turned, for connections that are opened from now on. */
export async function makeClockTurnable(address: DatabaseAddress): Promise<void> {
  await using setup = openDatabase({ address, applicationName: 'waxwing test', connectionsMax: 1 })
  await sql`create table clock (turned interval not null, since timestamptz primary key)`.execute(setup.db)
  await sql`insert into clock values ('0', '-infinity')`.execute(setup.db)
  for (const [name, volatility] of FUNCTIONS)
    await sql`
      create function ${sql.ref(name)}() returns timestamptz language sql ${sql.raw(volatility)}
      as ${sql.lit(`select time + turned from public.clock, pg_catalog.${name}() as time
        where since <= time order by since desc limit 1`)}
    `.execute(setup.db)
  const { rows: defaults } = await sql<{ change: string }>`
    select format('alter table %s alter column %I set default %s', adrelid::regclass, attname, expression) as change
    from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum,
      pg_get_expr(adbin, adrelid) as expression
    where expression ~ '(now|clock_timestamp)\\(\\)' and not attisdropped
  `.execute(setup.db)
  // Functions of `public` are found before those of PostgreSQL, which come first otherwise.
  await sql`do $$ begin
    execute format('alter database %I set search_path = public, pg_catalog', current_database());
  end $$`.execute(setup.db)
  await sql`set search_path = public, pg_catalog`.execute(setup.db)
  for (const { change } of defaults) await sql.raw(change).execute(setup.db)
}
