/** @module-tag postgres-16 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleTenant } from '../../test/sample-rows.ts'
import { seeded } from '../../test/seeded.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { Database, Db } from '../database/pool.ts'
import { openWakes } from '../database/wake.ts'
import { Pulse } from '../processes/pulse.ts'
import { openLog } from '../kit/log.ts'
import { EventFollower, type EventSubscription } from './follow.ts'
import { openNews } from './news.ts'
import { deleteOldEvents } from './retention.ts'
import { inTransaction } from './unit-of-work.ts'

const log = openLog({ level: 'silent', format: 'json' })

type Followed = 'account.deleted' | 'account.purged'

/** Announces an event whose data has the number. */
async function append(db: Db, tenantId: string, number: number, type: Followed | 'account.initialized') {
  await inTransaction(db, tenantId, async unit => {
    if (type === 'account.initialized')
      unit.announce({ type, accountId: null, data: { mailboxes: number, messages: 0 } })
    else if (type === 'account.deleted')
      unit.announce({ type, accountId: null, data: { email: String(number), externalRef: null } })
    else unit.announce({ type, accountId: null, data: { accountId: String(number), externalRef: null } })
  })
}

/** Writes down what it is handed, in the order in which the batches commit. */
async function openNotebook(db: Db) {
  await sql`
    create table noted (number bigserial, tenant_id uuid not null, event_id bigint not null)
  `.execute(db)
  return {
    subscription: (before: () => Promise<void> = async () => {}): EventSubscription<Followed> => ({
      name: 'notebook',
      types: ['account.deleted', 'account.purged'],
      async handle(unit, events) {
        await sql`
          insert into noted (tenant_id, event_id)
          select ${unit.tenantId}, id from unnest(${events.map(({ id }) => id)}::bigint[]) with ordinality as noted (id, place)
          order by place
        `.execute(unit.sql)
        await before()
      },
    }),
    async read(tenantId: string): Promise<string[]> {
      const { rows } = await sql<{ event_id: string }>`
        select event_id from noted where tenant_id = ${tenantId} order by number
      `.execute(db)
      return rows.map(row => row.event_id)
    },
  }
}

async function wanted(db: Db, tenantId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from event where tenant_id = ${tenantId} and type in ('account.deleted', 'account.purged') order by id
  `.execute(db)
  return rows.map(row => row.id)
}

async function findPosition(db: Db, tenantId: string): Promise<string | undefined> {
  const { rows } = await sql<{ after_id: string }>`
    select after_id from event_follower where tenant_id = ${tenantId}
  `.execute(db)
  return rows[0]?.after_id
}

/** The news of one process. */
function openTestNews({ db, address }: Database) {
  const opened = new AsyncDisposableStack()
  const wakes = opened.use(openWakes(address, log))
  const pulse = opened.use(new Pulse(db, log))
  const news = opened.use(openNews({ db, wakes, pulse, log }))
  return { news, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const SEEDS = [1, 2, 3]

describe('EventFollower', () => {
  test.each(SEEDS)(
    'hands over each event once and in order, over two processes that fail and start again (seed %i)',
    { timeout: 300_000 },
    async seed => {
      await using database = await openTestDatabase()
      const { db } = database
      const random = seeded(seed)
      const notebook = await openNotebook(db)
      const tenants = await Promise.all([sampleTenant(db), sampleTenant(db), sampleTenant(db)])
      const faults = random.fork('faults')
      const failing = async () => {
        if (faults.chance(0.3)) await sleep(faults.between(0, 3))
        if (faults.chance(0.2)) throw new Error('a fault of the test')
      }
      await using heard = openTestNews(database)
      const { news } = heard
      const start = () => new EventFollower({ db, log, news, subscription: notebook.subscription(failing) })
      const followers = [start(), start()]

      const writers = Array.from({ length: 6 }, async (_, writer) => {
        const draws = random.fork(`writer ${writer}`)
        for (let number = 0; number < 60; number++) {
          const { id } = draws.pick(tenants)
          await append(
            db,
            id,
            number,
            draws.pick(['account.deleted', 'account.purged', 'account.initialized']),
          )
          if (draws.chance(0.03)) {
            const which = draws.between(0, 1)
            const old = followers[which]!
            followers[which] = start()
            await old[Symbol.asyncDispose]()
          }
        }
      })
      await Promise.all(writers)
      for (const { id } of tenants) {
        const all = await wanted(db, id)
        await waitUntil('the last event', async () => {
          // In place of the pauses after failures.
          await sql`update event_follower set due_at = null`.execute(db)
          for (const follower of followers) follower.lookAtAll()
          return (await notebook.read(id)).length >= all.length
        })
        expect(await notebook.read(id)).toEqual(all)
      }
      await Promise.all(followers.map(follower => follower[Symbol.asyncDispose]()))
    },
  )

  test('follows a tenant from its first event, and one of which it knows from its position', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const notebook = await openNotebook(db)
    const [old, fresh] = [await sampleTenant(db), await sampleTenant(db)]
    await append(db, old.id, 1, 'account.deleted')
    const [passed] = await wanted(db, old.id)
    await sql`
      insert into event_follower (name, tenant_id, after_id) values ('notebook', ${old.id}, ${passed})
    `.execute(db)
    await append(db, old.id, 2, 'account.deleted')
    await append(db, fresh.id, 1, 'account.deleted')
    await using heard = openTestNews(database)
    await using _follower = new EventFollower({ db, log, ...heard, subscription: notebook.subscription() })
    await waitUntil('both tenants', async () => (await notebook.read(fresh.id)).length > 0)
    await waitUntil('the old one', async () => (await notebook.read(old.id)).length > 0)
    expect(await notebook.read(old.id)).toEqual((await wanted(db, old.id)).slice(1))
    expect(await notebook.read(fresh.id)).toEqual(await wanted(db, fresh.id))
  })

  test('passes over any number of other events, and over those of purged accounts', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const notebook = await openNotebook(db)
    const { id } = await sampleTenant(db)
    await sql`
      insert into event (tenant_id, id, type, data)
      select ${id}::uuid, nextval('event_id'), case when n % 100 = 0 then 'account.deleted' else 'account.updated' end,
        case when n % 200 = 0 then '{}' else '{"email":"x"}' end::json
      from generate_series(1, 12000) as n
    `.execute(db)
    await append(db, id, 1, 'account.purged')
    await using heard = openTestNews(database)
    await using _follower = new EventFollower({ db, log, ...heard, subscription: notebook.subscription() })
    await waitUntil('the last one', async () => (await notebook.read(id)).length >= 61)
    const { rows } = await sql<{ id: string }>`
      select id from event where tenant_id = ${id} and type <> 'account.updated' and data::text <> '{}' order by id
    `.execute(db)
    expect(await notebook.read(id)).toEqual(rows.map(row => row.id))
  })

  test('passes over what nobody wants in few batches, and hands over what is committed once somebody does', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const notebook = await openNotebook(db)
    await sql`create table wanting (tenant_id uuid)`.execute(db)
    const isWanted = (id: string) => sql<boolean>`exists (select from wanting where tenant_id = ${id})`
    const { id } = await sampleTenant(db)
    await using heard = openTestNews(database)
    let batches = 0
    const reach = async () => void batches++
    const subscription = { ...notebook.subscription(), isWanted }
    await using _follower = new EventFollower({ db, log, news: heard.news, subscription, reach })
    const begunAt = performance.now()
    for (let number = 0; number < 40; number++) {
      await append(db, id, number, 'account.deleted')
      // Long enough for a batch of its own.
      await sleep(50)
    }
    const last = (await wanted(db, id)).at(-1)
    await waitUntil('the last event', async () => (await findPosition(db, id)) === last)
    // A few at the start, and then one a second. Otherwise it is one for nearly each event.
    expect(batches).toBeLessThan(10 + (2 * (performance.now() - begunAt)) / 1_000)
    expect(await notebook.read(id)).toEqual([])

    await sql`insert into wanting values (${id})`.execute(db)
    for (let number = 0; number < 3; number++) await append(db, id, number, 'account.deleted')
    const expected = (await wanted(db, id)).slice(-3)
    await waitUntil('the wanted events', async () => (await notebook.read(id)).length === expected.length)
    expect(await notebook.read(id)).toEqual(expected)
  })

  test('goes on with the other tenants while one fails, and does not hold up appends', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const notebook = await openNotebook(db)
    const [bad, good] = [await sampleTenant(db), await sampleTenant(db)]
    await append(db, bad.id, 1, 'account.deleted')
    const held = Promise.withResolvers<void>()
    const entered = Promise.withResolvers<void>()
    const subscription = notebook.subscription()
    await using heard = openTestNews(database)
    await using _follower = new EventFollower({
      db,
      log,
      news: heard.news,
      subscription: {
        ...subscription,
        async handle(unit, events) {
          if (unit.tenantId === bad.id) throw new Error('a fault of the test')
          await subscription.handle(unit, events)
          entered.resolve()
          await held.promise
        },
      },
    })
    await append(db, good.id, 1, 'account.deleted')
    await entered.promise
    await append(db, good.id, 2, 'account.deleted')
    held.resolve()
    await waitUntil('both events', async () => (await notebook.read(good.id)).length === 2)
    expect(await notebook.read(bad.id)).toEqual([])
  })

  test('keeps events of a tenant that a follower has not begun with', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const [begun, fresh] = [await sampleTenant(db), await sampleTenant(db)]
    for (const { id } of [begun, fresh])
      await sql`
        insert into event (tenant_id, id, type, data, created_at)
        select ${id}::uuid, nextval('event_id'), 'account.updated', '{}', clock_timestamp() - make_interval(days => n)
        from unnest(array[20, 9, 1]) as n
      `.execute(db)
    await sql`
      insert into event_follower (name, tenant_id, after_id) select 'notebook', ${begun.id}, max(id) from event
    `.execute(db)
    expect(await deleteOldEvents(db, begun.id, 7, AbortSignal.any([]))).toBe(2)
    expect(await deleteOldEvents(db, fresh.id, 7, AbortSignal.any([]))).toBe(1)
  })

  test('keeps events that a follower has not handled a week longer than the retention', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { id } = await sampleTenant(db)
    await sql`
      insert into event (tenant_id, id, type, data, created_at)
      select ${id}::uuid, nextval('event_id'), 'account.updated', '{}', clock_timestamp() - make_interval(days => 20 - n)
      from generate_series(0, 19) as n
    `.execute(db)
    const { rows } = await sql<{ id: string }>`
      select id from event where tenant_id = ${id} order by id offset 8 limit 1`.execute(db)
    await sql`
      insert into event_follower (name, tenant_id, after_id) values ('notebook', ${id}, ${rows[0]!.id})
    `.execute(db)
    // Seven of 20 days are kept; the position is at the ninth.
    expect(await deleteOldEvents(db, id, 7, AbortSignal.any([]))).toBe(9)
    await sql`update event_follower set after_id = 0 where tenant_id = ${id}`.execute(db)
    expect(await deleteOldEvents(db, id, 3, AbortSignal.any([]))).toBe(2)
  })
})
