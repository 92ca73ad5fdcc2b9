/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleTenant } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { type Database, type Db, openDatabase } from '../database/pool.ts'
import { openWakes } from '../database/wake.ts'
import { Pulse } from '../processes/pulse.ts'
import { silentLog } from '../kit/log.ts'
import { openNews } from './news.ts'
import { inTransaction } from './unit-of-work.ts'

/** The news of one process, and what a listener there heard. */
function openProcess({ address }: Database, opened: AsyncDisposableStack) {
  const { db } = opened.use(openDatabase({ address, applicationName: 'waxwing news' }))
  const wakes = opened.use(openWakes(address, silentLog))
  const pulse = opened.use(new Pulse(db, silentLog))
  const news = opened.use(openNews({ db, wakes, pulse, log: silentLog }))
  const heard: string[] = []
  const listen = () =>
    opened.use(
      news.listen({
        onNews: (tenantId, types) => void heard.push([tenantId, ...[...types].toSorted()].join(' ')),
        onUnsure: () => {},
      }),
    )
  return { db, heard, pulse, listen }
}

const announce = (db: Db, tenantId: string) =>
  inTransaction(db, tenantId, async unit => {
    unit.announce({ type: 'webhook.test', accountId: null, data: { message: 'x' } })
    unit.announce({ type: 'account.deleted', accountId: null, data: { email: 'x', externalRef: null } })
  })

describe('news', () => {
  test('are told in this process when the commit is, with their types, and not after a rollback', async () => {
    await using opened = new AsyncDisposableStack()
    const database = opened.use(await openTestDatabase())
    const { id } = await sampleTenant(database.db)
    const quiet = await sampleTenant(database.db)
    const { db, heard, listen } = openProcess(database, opened)
    listen()
    await announce(db, id)
    // The poll may report the same news again.
    expect([...new Set(heard)]).toEqual([`${id} account.deleted webhook.test`])
    const failing = inTransaction(db, quiet.id, async unit => {
      unit.announce({ type: 'webhook.test', accountId: null, data: { message: 'x' } })
      throw new Error('a fault of the test')
    })
    await expect(failing).rejects.toThrow('a fault of the test')
    await inTransaction(db, quiet.id, () => Promise.resolve())
    expect(heard.filter(told => !told.startsWith(id))).toEqual([])
  })

  test('reach other processes by few notices, each of which names tenants once', async () => {
    await using opened = new AsyncDisposableStack()
    const database = opened.use(await openTestDatabase())
    const tenants = await Promise.all(Array.from({ length: 20 }, () => sampleTenant(database.db)))
    const notices: string[][] = []
    let isListening = false
    const wakes = opened.use(openWakes(database.address, silentLog))
    wakes.on(['waxwing_event'], {
      onWake: items => void notices.push(items),
      onListening: () => (isListening = true),
    })
    await waitUntil('listening', async () => isListening)
    const { db } = openProcess(database, opened)
    await Promise.all(tenants.flatMap(({ id }) => Array.from({ length: 10 }, () => announce(db, id))))
    const told = () => new Set(notices.flatMap(([, ...items]) => items))
    await waitUntil('all tenants', async () => told().size === tenants.length)
    expect(told()).toEqual(new Set(tenants.map(({ id }) => `${id} webhook.test account.deleted`)))
    for (const [sender, ...items] of notices) {
      expect(sender).toBe(notices[0]?.[0])
      expect(new Set(items).size).toBe(items.length)
    }
    expect(notices.length).toBeLessThan(200)
  })

  test('are found by a poll if no notice reports them, in the process that waits', async () => {
    await using opened = new AsyncDisposableStack()
    const database = opened.use(await openTestDatabase())
    const { id } = await sampleTenant(database.db)
    const { heard, pulse, listen } = openProcess(database, opened)
    listen()
    // It is the first event of all, and comes when the polls that follow a start are over.
    let beats = 0
    opened.use(pulse.ask({ isDue: () => sql<boolean>`true`, onDue: () => void beats++ }))
    await waitUntil('the poll to be idle', async () => beats > 8)
    await sql`
      insert into event (tenant_id, id, type, data) values (${id}, nextval('event_id'), 'webhook.test', '{}')
    `.execute(database.db)
    await waitUntil('the news', async () => heard.includes(`${id} webhook.test`))
  })
})
