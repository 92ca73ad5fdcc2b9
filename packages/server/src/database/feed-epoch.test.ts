import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgresServer } from '../../test/postgres-server.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { watchForRestore } from './feed-epoch.ts'
import { migrate } from './migrate.ts'
import { clientSettings, type DatabaseAddress, openDatabase } from './pool.ts'

let server: PostgresServer
beforeAll(async () => void (server = await startPostgresServer()))
afterAll(() => server[Symbol.asyncDispose]())

let count = 0

/** A migrated database on a server that the tests may restart. */
async function makeDatabase(template?: string): Promise<string> {
  const name = `test_${(count += 1)}`
  await query(server.address('postgres'), `create database ${name} ${template ? `template ${template}` : ''}`)
  await migrate(server.address(name))
  return name
}

/** Opens a database as a starting process does. `noticed` counts the restores. */
async function openWatched(address: DatabaseAddress) {
  let noticed = 0
  const watch = watchForRestore({ isSynchronous: false, onRestored: () => void (noticed += 1) })
  const database = openDatabase({ address, applicationName: 'waxwing test', onConnect: watch.onConnect })
  await watch.begin(database.pool)
  return { ...database, noticed: () => noticed }
}

async function start(address: DatabaseAddress): Promise<number> {
  await using opened = await openWatched(address)
  return opened.noticed()
}

async function query<Row extends object>(address: DatabaseAddress, statement: string): Promise<Row[]> {
  const client = new Client(clientSettings(address, 'waxwing test'))
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}

async function readState(name: string) {
  const [row] = await query<{ epoch: string; next: string }>(
    server.address(name),
    `select epoch, nextval('event_id')::text as next from feed_epoch`,
  )
  return { epoch: row?.epoch ?? '', next: BigInt(row?.next ?? 0) }
}

describe('watchForRestore', () => {
  test('raises no alarm for a restart, VACUUM FULL and migrations', async () => {
    const name = await makeDatabase()
    const address = server.address(name)
    expect(await start(address)).toBe(0)
    for (const statement of ['vacuum full', 'analyze', 'checkpoint']) await query(address, statement)
    await server.stop()
    await server.start()
    await migrate(address)
    expect(await start(address)).toBe(0)
    expect((await readState(name)).epoch).toBe('')
  })

  test('notices a copied database once, however many processes start at the same time', async () => {
    const name = await makeDatabase()
    await start(server.address(name))
    const before = await readState(name)
    const copy = await makeDatabase(name)
    const noticed = await Promise.all([1, 2, 3, 4].map(() => start(server.address(copy))))

    expect(noticed.toSorted()).toEqual([0, 0, 0, 1])
    const after = await readState(copy)
    expect(after.epoch).not.toBe('')
    expect(after.next).toBeGreaterThan(before.next + 1_000_000_000n)
    expect(await start(server.address(copy))).toBe(0)
    expect((await readState(copy)).epoch).toBe(after.epoch)
  })

  test.each([
    ['a backup', 0],
    ['a backup that was taken soon after a restore', 1],
  ])('keeps two restores of %s apart', async (_, restores) => {
    let backup = await makeDatabase()
    await start(server.address(backup))
    for (let done = 0; done < restores; done += 1) {
      backup = await makeDatabase(backup)
      await start(server.address(backup))
    }
    const { next } = await readState(backup)
    const restored = [await makeDatabase(backup), await makeDatabase(backup)]
    for (const name of restored) await start(server.address(name))
    const [one = 0n, other = 0n] = await Promise.all(
      restored.map(async name => (await readState(name)).next - next),
    )

    for (const ahead of [one, other]) expect(ahead).toBeGreaterThan(1_000_000_000n)
    // The chance that two random numbers of 10^12 are closer than this is one in a million.
    expect(Math.abs(Number(one - other))).toBeGreaterThan(500_000)
  })

  test('notices tables that were loaded again in place', async () => {
    const name = await makeDatabase()
    const address = server.address(name)
    await start(address)
    await query(
      address,
      `alter table feed_epoch rename to old; create table feed_epoch (like old including all);
       insert into feed_epoch select * from old; drop table old`,
    )
    expect(await start(address)).toBe(1)
  })

  test('notices a new timeline under a running process, before its first statement', async () => {
    const name = await makeDatabase()
    await using opened = await openWatched(server.address(name))
    await server.restartOnNewTimeline()
    const { rows } = await waitUntil('a new connection', () =>
      sql<{ epoch: string }>`select epoch from feed_epoch`.execute(opened.db).catch(() => null),
    )
    expect(rows[0]?.epoch).not.toBe('')
    expect(opened.noticed()).toBe(1)
  })

  test('compares only what the role may read', async () => {
    const name = await makeDatabase()
    await query(
      server.address(name),
      `create role plain login password 'plain';
       revoke execute on function pg_control_system(), pg_walfile_name(pg_lsn) from public;
       alter table feed_epoch owner to plain; alter sequence event_id owner to plain`,
    )
    const plain = { ...server.address(name), user: 'plain', password: 'plain' } as DatabaseAddress
    expect(await start(plain)).toBe(0)
    // A value that was unknown before is no difference.
    expect(await start(server.address(name))).toBe(0)
    expect(await start(plain)).toBe(0)
    expect((await readState(name)).epoch).toBe('')
  })
})
