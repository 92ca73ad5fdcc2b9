/** @module-tag postgres-16 */
import { Command } from 'commander'
import { sql } from 'kysely'
import { afterEach, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import type { Config } from '../config.ts'
import type { Db } from '../database/pool.ts'
import { newId } from '../kit/ids.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import { register } from './instances.ts'

afterEach(() => vi.restoreAllMocks())

async function run(db: Db, ...words: string[]): Promise<string> {
  const program = new Command().exitOverride()
  const connect = () =>
    Promise.resolve({
      db,
      keyRing: {} as KeyRing,
      config: {} as Config,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  register(program, connect)
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
  await program.parseAsync(['instances', ...words], { from: 'user' })
  const text = printed.mock.calls.map(([line]) => String(line)).join('\n')
  printed.mockRestore()
  return text
}

interface Row {
  host: string
  /** Seconds since the last heartbeat. */
  age: number
  /** Whether its lease has ended. Otherwise it does not end while a test runs. */
  isSilent?: boolean
  version?: string
  roles: string[]
  weight?: number
}

async function addInstance(
  db: Db,
  { host, age, isSilent = false, version, roles, weight }: Row,
): Promise<string> {
  const id = newId()
  const ago = (seconds: number) => sql<Date>`clock_timestamp() - make_interval(secs => ${seconds})`
  const beats = { heartbeat_at: ago(age), heartbeat_until: ago(isSilent ? age - 10 : -50) }
  const facts = { host, version: version ?? null, roles, weight: weight ?? null }
  await db
    .insertInto('instance')
    .values({ id, started_at: ago(60), ...facts, ...beats })
    .execute()
  return id
}

test('lists the processes that live, and those whose accounts wait for another, but no others', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  expect(await run(db)).toBe('No process is running.')

  const silent = await addInstance(db, { host: 'bad\u001bhost', age: 12, isSilent: true, roles: ['sync'] })
  await addInstance(db, { host: 'gone', age: 12, isSilent: true, roles: ['sync'], weight: 7 })
  const sync = await addInstance(db, { host: 'one', age: 1, version: '1.2.3', roles: ['sync'], weight: 2.25 })
  const api = await addInstance(db, { host: 'two', age: 0, version: '1.2.3', roles: ['api', 'jobs'] })
  const tenant = await sampleTenant(db)
  await sampleAccount(db, tenant.id, { owner_instance: silent })
  for (let nth = 0; nth < 2; nth++) await sampleAccount(db, tenant.id, { owner_instance: sync })

  const heartbeat = expect.stringMatching(/^heartbeat [0-9.]+ s ago$/)
  const silence = expect.stringMatching(/^silent, heartbeat [0-9.]+ s ago$/)
  expect((await run(db)).split('\n').map(line => line.split('  '))).toEqual([
    [silent, 'bad host', '-', 'sync', silence, '1 account'],
    [sync, 'one', '1.2.3', 'sync', heartbeat, '2 accounts, weight 2.3'],
    [api, 'two', '1.2.3', 'api,jobs', heartbeat, '0 accounts'],
  ])
  const { instances } = JSON.parse(await run(db, '--json'))
  expect(instances).toMatchObject([
    { id: silent, isLive: false, accounts: 1, weight: null, version: null },
    { id: sync, host: 'one', roles: ['sync'], isLive: true, accounts: 2, weight: 2.25 },
    { id: api, isLive: true, accounts: 0, weight: null, heartbeatAt: expect.any(String) },
  ])
})
