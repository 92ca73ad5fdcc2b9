/** @module-tag postgres-16 */
import type { EventEmitter } from 'node:events'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { inOneFlight } from './in-one-flight.ts'
import { executeUnawaited, HELD } from './unawaited.ts'

let database: Awaited<ReturnType<typeof openTestDatabase>>

beforeAll(async () => {
  database = await openTestDatabase({ connectionsMax: 2 })
  await sql`create table kept (id int primary key)`.execute(database.db)
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => void (await sql`delete from kept`.execute(database.db)))

const kept = async () => {
  const { rows } = await sql<{ id: number }>`select id from kept order by id`.execute(database.db)
  return rows.map(({ id }) => id)
}
const keep = (id: number) => sql`insert into kept values (${id}::int)`
const failing = sql`select 1 / ${0}::int`

describe('a statement that nobody waits for', () => {
  test('is committed with its transaction, in the order of the statements', async () => {
    const seen = await database.db.transaction().execute(async tx => {
      await executeUnawaited(tx, keep(1))
      const { rows } = await sql<{ id: number }>`select id from kept`.execute(tx)
      await executeUnawaited(tx, keep(2))
      await executeUnawaited(tx, sql`update kept set id = id + 10`)
      return rows
    })
    expect(seen).toEqual([{ id: 1 }])
    expect(await kept()).toEqual([11, 12])
  })

  test.each([
    ['the next statement', true],
    ['the commit', false],
  ])('fails %s with its own error, and nothing is committed', async (_, hasNext) => {
    const transaction = database.db.transaction().execute(async tx => {
      await keep(1).execute(tx)
      await executeUnawaited(tx, failing)
      await executeUnawaited(tx, keep(2))
      if (hasNext) await keep(3).execute(tx)
    })
    await expect(transaction).rejects.toMatchObject({ code: '22012' })
    expect(await kept()).toEqual([])
    // The connection serves others afterwards.
    for (let id = 1; id <= 4; id++) await keep(id).execute(database.db)
    expect(await kept()).toEqual([1, 2, 3, 4])
  })

  test('does not hide the error of the work after it', async () => {
    const transaction = database.db.transaction().execute(async tx => {
      await executeUnawaited(tx, failing)
      throw new Error('The work failed')
    })
    await expect(transaction).rejects.toThrow('The work failed')
    expect(await kept()).toEqual([])
  })

  test('is undone with its transaction', async () => {
    const transaction = database.db.transaction().execute(async tx => {
      await executeUnawaited(tx, keep(1))
      throw new Error('The work failed')
    })
    await expect(transaction).rejects.toThrow('The work failed')
    expect(await kept()).toEqual([])
  })

  test('takes locks in the order of the statements', async () => {
    await keep(1).execute(database.db)
    const add = () =>
      database.db.transaction().execute(async tx => {
        await executeUnawaited(tx, sql`select id from kept where id = 1 for update`)
        const { rows } = await sql<{ count: number }>`select count(*)::int as count from kept`.execute(tx)
        await executeUnawaited(tx, keep(1 + rows[0]!.count))
      })
    // Each sees what the one before it committed, so no two of them count the same.
    await Promise.all(Array.from({ length: 20 }, add))
    expect(await kept()).toEqual(Array.from({ length: 21 }, (_, nth) => nth + 1))
  })
})

describe('a statement that is sent with the next one', () => {
  let single: Awaited<ReturnType<typeof openTestDatabase>>
  let answers = 0
  beforeAll(async () => {
    single = await openTestDatabase({ connectionsMax: 1 })
    single.pool.on('connect', client => {
      // The types of `pg` leave its connection out.
      const { connection } = client as unknown as { connection: EventEmitter }
      connection.on('readyForQuery', () => answers++)
    })
    await sql`create table kept (id int primary key)`.execute(single.db)
  })
  afterAll(() => single[Symbol.asyncDispose]())

  const count = async (tx: typeof single.db) => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from kept`.execute(tx)
    return rows[0]!.count
  }

  test('is answered together with it', async () => {
    const before = answers
    await single.db.transaction().execute(async tx => {
      for (let id = 1; id <= 10; id++) await executeUnawaited(tx, keep(id))
    })
    expect(answers - before).toBe(1)
    expect(await count(single.db)).toBe(10)
  })

  test('is not sent if the transaction is rolled back', async () => {
    const before = answers
    const transaction = single.db.transaction().execute(async tx => {
      await executeUnawaited(tx, keep(11))
      throw new Error('The work failed')
    })
    await expect(transaction).rejects.toThrow('The work failed')
    expect(answers - before).toBe(0)
    expect(await count(single.db)).toBe(10)
  })

  test('fails if the transaction is rolled back before', async () => {
    let reading: Promise<unknown> = Promise.resolve()
    const transaction = single.db.transaction().execute(async tx => {
      const compiled = keep(11).compile(tx)
      reading = tx.executeQuery({ ...compiled, parameters: [...compiled.parameters, HELD] })
      reading.catch(() => {})
      await new Promise(resolve => setImmediate(resolve))
      throw new Error('The work failed')
    })
    await expect(transaction).rejects.toThrow('The work failed')
    await expect(reading).rejects.toThrow('was rolled back before')
    expect(await count(single.db)).toBe(10)
  })

  test('may return rows, which do not get into those of the next', async () => {
    const rows = await single.db.transaction().execute(async tx => {
      await executeUnawaited(tx, sql`select id from kept for update`)
      return sql<{ id: number }>`select id from kept where id > ${8}::int order by id`.execute(tx)
    })
    expect(rows.rows).toEqual([{ id: 9 }, { id: 10 }])
  })

  test('may be only a comment', async () => {
    const { rows } = await single.db.transaction().execute(async tx => {
      await executeUnawaited(tx, sql`-- nothing`)
      return sql<{ id: number }>`select id from kept where id = ${9}::int`.execute(tx)
    })
    expect(rows).toEqual([{ id: 9 }])
  })

  test('may be read', async () => {
    const before = answers
    const rows = await single.db
      .transaction()
      .execute(tx =>
        inOneFlight(tx, [
          sql<{ id: number }>`select id from kept where id < ${3}::int order by id`,
          sql`update kept set id = id`,
          sql<{ count: number }>`select count(*)::int as count from kept`,
        ]),
      )
    expect(rows).toEqual([[{ id: 1 }, { id: 2 }], [], [{ count: 10 }]])
    // One for them, and one for the commit.
    expect(answers - before).toBe(2)
  })

  test('may be followed by a script', async () => {
    await single.db.transaction().execute(async tx => {
      await executeUnawaited(tx, keep(11))
      await sql`insert into kept values (12); insert into kept values (13)`.execute(tx)
    })
    expect(await count(single.db)).toBe(13)
  })

  test('leaves statements to be prepared that the server did not get to', async () => {
    const late = sql`delete from kept where id = ${13}::int`
    const transaction = single.db.transaction().execute(async tx => {
      await executeUnawaited(tx, failing)
      await executeUnawaited(tx, late)
      await sql`delete from kept where id < ${13}::int`.execute(tx)
    })
    await expect(transaction).rejects.toMatchObject({ code: '22012' })
    expect(await count(single.db)).toBe(13)
    await late.execute(single.db)
    await single.db.transaction().execute(tx => executeUnawaited(tx, late))
    expect(await count(single.db)).toBe(12)
  })

  test('fails with a value that cannot be sent', async () => {
    const circular: { self?: unknown } = {}
    circular.self = circular
    const asJson = (value: unknown) => sql<{ value: unknown }>`select ${value}::json as value`
    const transaction = () =>
      single.db.transaction().execute(async tx => {
        await executeUnawaited(tx, keep(14))
        await executeUnawaited(tx, asJson(circular))
        await executeUnawaited(tx, keep(15))
      })
    // The same with a statement that is not prepared yet, and with one that is.
    for (let each = 0; each < 2; each++) {
      await expect(transaction()).rejects.toThrow('circular')
      expect(await count(single.db)).toBe(12)
      expect((await asJson({ a: 1 }).execute(single.db)).rows).toEqual([{ value: { a: 1 } }])
    }
  })
})

describe('inOneFlight', () => {
  test('runs statements in their order, each in a transaction of its own', async () => {
    const [first, seen, count] = await inOneFlight(database.db, [
      sql<{ id: number }>`insert into kept values (1) returning id`,
      sql<{ id: number }>`insert into kept select id + 1 from kept returning id`,
      sql<{ count: number }>`select count(*)::int as count from kept`,
    ])
    expect({ first, seen, count }).toEqual({ first: [{ id: 1 }], seen: [{ id: 2 }], count: [{ count: 2 }] })
  })

  test('throws the first error, and serves the next', async () => {
    await expect(inOneFlight(database.db, [keep(1), failing, keep(1)])).rejects.toMatchObject({
      code: '22012',
    })
    expect(await kept()).toEqual([1])
  })
})
