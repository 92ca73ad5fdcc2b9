import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LASTING, query, replicateSynchronously, startStandby, VERSION } from '../../test/standby.ts'
import { type PostgresServer, startPostgresServer } from '../../test/postgres-server.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { watchForRestore } from './feed-epoch.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './pool.ts'
import { hasEveryCommit, type Promotion } from './promotion.ts'

const BEFORE = { system: '7', timeline: '00000009', database: '5', table: '6', inode: null, birth: null }
const PROMOTED: Promotion = {
  before: BEFORE,
  now: { ...BEFORE, timeline: '0000000A' },
  notes: ['sync', 'sync'],
  recovery: { hasTarget: false, hasStreamed: true },
}

describe('hasEveryCommit', () => {
  test.each<[string, boolean, Partial<Promotion>]>([
    ['a promotion', true, {}],
    ['a promotion that a new process notices', true, { notes: ['quorum', null] }],
    ['a promotion without a note', false, { notes: [null, null] }],
    ['a standby that was asynchronous', false, { notes: ['async', 'sync'] }],
    ['a standby that lacks the last note of this process', false, { notes: ['sync', 'none'] }],
    ['a recovery to a target', false, { recovery: { hasTarget: true, hasStreamed: true } }],
    ['a recovery of an archive', false, { recovery: { hasTarget: false, hasStreamed: false } }],
    ['a promotion after another one', false, { now: { ...BEFORE, timeline: '0000000B' } }],
    ['an older timeline', false, { now: { ...BEFORE, timeline: '00000008' } }],
    ['an unreadable timeline', false, { now: { ...BEFORE, timeline: null } }],
    ['another cluster', false, { now: { ...PROMOTED.now, system: '8' } }],
    ['an unreadable cluster', false, { before: { ...BEFORE, system: null } }],
    ['another database', false, { now: { ...PROMOTED.now, database: '8' } }],
    ['tables that were loaded again', false, { now: { ...PROMOTED.now, table: '8' } }],
  ])('%s: %s', (_, expected, change) => {
    expect(hasEveryCommit({ ...PROMOTED, ...change })).toBe(expected)
  })
})

describe('a promotion', () => {
  let opened: AsyncDisposableStack
  let primary: PostgresServer
  let standbys: [PostgresServer, PostgresServer]

  beforeAll(async () => {
    opened = new AsyncDisposableStack()
    primary = opened.use(await startPostgresServer(VERSION, LASTING))
    await migrate(primary.address('postgres'))
    await start(primary)
    const backup = opened.use(await primary.takeBaseBackup())
    const follow = async () => opened.use(await startStandby(primary, backup))
    standbys = [await follow(), await follow()]
    await replicateSynchronously(primary)
  })
  afterAll(() => opened.disposeAsync())

  /** Opens a database as a starting process does. */
  async function start(server: PostgresServer, isSynchronous = true) {
    const restores: boolean[] = []
    const onRestored = ({ isComplete }: { isComplete: boolean }) => void restores.push(isComplete)
    const watch = watchForRestore({ isSynchronous, onRestored })
    const address = server.address('postgres')
    await using database = openDatabase({
      address,
      applicationName: 'waxwing test',
      onConnect: watch.onConnect,
    })
    await watch.begin(database.pool)
    return { restores, standby: await watch.noteStandby(database.db) }
  }

  async function promote(standby: PostgresServer): Promise<void> {
    const [log] = await query<{ lsn: string }>(
      primary.address('postgres'),
      'select pg_current_wal_lsn()::text as lsn',
    )
    await waitUntil('the standby to have the notes', async () => {
      const rows = await query(
        standby.address('postgres'),
        `select where pg_last_wal_replay_lsn() >= '${log!.lsn}'`,
      )
      return rows.length > 0
    })
    await query(standby.address('postgres'), 'select pg_promote()')
  }

  const continuesOf = async (server: PostgresServer) =>
    (await query<{ continues: string[] }>(server.address('postgres'), 'select continues from feed_epoch'))[0]!
      .continues

  test('has every commit if the processes noted a synchronous standby, and the operator promises it', async () => {
    expect(await start(primary)).toEqual({ restores: [], standby: 'sync' })
    const [standby] = standbys
    await promote(standby)

    expect(await start(standby)).toEqual({ restores: [true], standby: 'none' })

    expect(await continuesOf(standby)).toEqual([''])
  })

  test('may lack commits if the standby had lost its place as the synchronous one', async () => {
    const admin = primary.address('postgres')
    await query(admin, 'alter system reset synchronous_standby_names')
    await query(admin, 'select pg_reload_conf()')
    await waitUntil('the standby to be asynchronous', async () => {
      const rows = await query(admin, `select from pg_stat_replication where sync_state <> 'async'`)
      return rows.length === 0
    })
    expect(await start(primary)).toEqual({ restores: [], standby: 'async' })
    const [, standby] = standbys
    await promote(standby)

    expect(await start(standby)).toMatchObject({ restores: [false] })

    expect(await continuesOf(standby)).toEqual([])
  })

  test('may lack commits without the promise of the operator', async () => {
    const [standby] = standbys
    const first = JSON.stringify({ timeline: '00000001' })
    await query(
      standby.address('postgres'),
      `update feed_epoch set standby = 'sync', place = place || '${first}'`,
    )
    expect(await start(standby, false)).toMatchObject({ restores: [false] })
    expect(await continuesOf(standby)).toEqual([])
  })

  test('may lack commits if it was the recovery of an archive', async () => {
    await query(primary.address('postgres'), `update feed_epoch set standby = 'sync'`)
    await primary.restartOnNewTimeline()

    expect(await start(primary)).toMatchObject({ restores: [false] })

    expect(await continuesOf(primary)).toEqual([])
  })
})
