import { implement } from '@orpc/server'
import { operation } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'
import { sampleAccount } from '../../test/sample-rows.ts'
import { useTestDoors } from '../../test/use-doors.ts'
import type { Db } from '../database/pool.ts'
import { requiring } from '../database/precondition.ts'
import { executeUnawaited } from '../database/unawaited.ts'
import type { ChangeUnit, RequestContext } from '../calls/context.ts'
import { refuse } from '../calls/refuse.ts'

const { openDoor } = useTestDoors()

type Work = (context: RequestContext) => Promise<string>

const declared = { scope: 'write', output: z.string(), refuses: ['account_paused'] } as const
const post = operation({
  ...declared,
  method: 'POST',
  path: '/v1/work',
  audit: 'work.create',
  makes: null,
  summary: 'Work.',
})
const patch = operation({
  ...declared,
  method: 'PATCH',
  path: '/v1/work',
  audit: 'work.update',
  summary: 'Work.',
})

const write = (db: Db, name: string) =>
  db
    .insertInto('sealed_value')
    .values({ name, sealed: Buffer.alloc(0) })
    .execute()
const writing = (name: string) => async (unit: ChangeUnit) => {
  await write(unit.sql, name)
  return name
}

/** Opens a door whose only operation does the given work, and empties the table that it writes. */
async function openWork(work: Work, options: { isStrict?: boolean } = {}) {
  const on = { post: implement(post), patch: implement(patch) }
  const handle = ({ context }: { context: RequestContext }) => work(context)
  const operations = {
    post: on.post.$context<RequestContext>().handler(handle),
    patch: on.patch.$context<RequestContext>().handler(handle),
  }
  const door = await openDoor({ operations, ...options })
  await door.db.deleteFrom('sealed_value').execute()
  const key = await door.createKey()
  async function send(method: 'POST' | 'PATCH', headers: Record<string, string> = {}) {
    const answer = await fetch(`${door.address}/v1/work`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  const rows = async () => {
    const found = await door.db.selectFrom('sealed_value').select('name').orderBy('name').execute()
    return found.map(({ name }) => name)
  }
  return { door, send, rows, [Symbol.asyncDispose]: door[Symbol.asyncDispose] }
}

describe('context.change', () => {
  test('commits rows and events, then wakes', async () => {
    const wokenBefore: number[] = []
    await using work = await openWork(async context =>
      context.change(async unit => {
        const { id } = await sampleAccount(unit.sql, unit.tenantId)
        unit.announce({
          type: 'account.deleted',
          accountId: id,
          data: { email: 'ada@example.com', externalRef: null },
        })
        unit.wake(id)
        unit.wake(id)
        wokenBefore.push(work.door.woken.length)
        return id
      }),
    )
    const { db, tenantId, woken } = work.door
    const { text } = await work.send('PATCH')
    const id: unknown = JSON.parse(text)
    expect({ wokenBefore, woken }).toEqual({ wokenBefore: [0], woken: [id] })
    const events = db.selectFrom('event').select(['type', 'account_id']).where('tenant_id', '=', tenantId)
    expect(await events.execute()).toEqual([{ type: 'account.deleted', account_id: id }])
  })

  test('that is refused leaves no row and wakes nobody', async () => {
    await using work = await openWork(context =>
      context.change(async unit => {
        await write(unit.sql, 'one')
        unit.wake('one')
        return refuse('account_paused')
      }),
    )
    expect((await work.send('POST')).status).toBe(409)
    expect({ rows: await work.rows(), woken: work.door.woken }).toEqual({ rows: [], woken: [] })
  })

  test('that fails to commit wakes nobody', async () => {
    await using work = await openWork(context =>
      context.change(async unit => {
        unit.wake('one')
        await sql`
          create temporary table pair (one integer unique deferrable initially deferred) on commit drop
        `.execute(unit.sql)
        await sql`insert into pair values (1), (1)`.execute(unit.sql)
        return 'one'
      }),
    )
    expect((await work.send('PATCH')).status).toBe(500)
    expect(work.door.woken).toEqual([])
  })

  test('keeps the headers of an answer', async () => {
    await using work = await openWork(context =>
      context.change(async unit => {
        await write(unit.sql, 'one')
        context.answerHeaders.etag = '"1"'
        return 'one\n"two"'
      }),
    )
    const first = await work.send('POST', { 'idempotency-key': 'k' })
    const second = await work.send('POST', { 'idempotency-key': 'k' })
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect([first, second].map(({ headers, text }) => [headers.get('etag'), text])).toEqual([
      ['"1"', JSON.stringify('one\n"two"')],
      ['"1"', JSON.stringify('one\n"two"')],
    ])
  })

  test('may be retried after a failure', async () => {
    await using work = await openWork(async context => {
      await context.change(() => Promise.reject(new Error('no'))).catch(() => {})
      return context.change(writing('second'))
    })
    for (const isReplayed of [null, 'true']) {
      const { status, text, headers } = await work.send('POST', { 'idempotency-key': 'k' })
      expect({ status, text }).toEqual({ status: 200, text: '"second"' })
      expect(headers.get('idempotent-replayed')).toBe(isReplayed)
    }
    expect(await work.rows()).toEqual(['second'])
  })
})

describe('context.change that may assume what was read', () => {
  /** Requires, if it may assume something, that the sealed value is there. */
  const requiringValue = (name: string, tried: Array<boolean | undefined>) => async (unit: ChangeUnit) => {
    tried.push(unit.mayAssume)
    await write(unit.sql, `written by try ${tried.length}`)
    unit.wake(`try ${tried.length}`)
    const isThere = sql<boolean>`exists (select from sealed_value where name = ${name})`
    if (unit.mayAssume) await executeUnawaited(unit.sql, sql`select ${requiring(isThere)}`)
    return name
  }

  test.each([
    ['commits at once if that holds', 'read', [true], ['read', 'written by try 1'], ['try 1']],
    [
      'runs once more without assuming if it does not',
      'other',
      [true, false],
      ['read', 'written by try 2'],
      ['try 2'],
    ],
  ])('%s', async (_, name, expected, rows, woken) => {
    const tried: Array<boolean | undefined> = []
    await using work = await openWork(async context => {
      await context.step(writing('read'))
      return context.change(requiringValue(name, tried), { mayAssume: true })
    })
    for (const isReplayed of [null, 'true']) {
      const { text, headers } = await work.send('POST', { 'idempotency-key': 'k' })
      expect(text).toBe(JSON.stringify(name))
      expect(headers.get('idempotent-replayed')).toBe(isReplayed)
    }
    expect({ tried, rows: await work.rows(), woken: work.door.woken }).toEqual({
      tried: expected,
      rows,
      woken,
    })
  })

  test('is not run again after another failure', async () => {
    const tried: Array<boolean | undefined> = []
    await using work = await openWork(context =>
      context.change(
        unit => {
          tried.push(unit.mayAssume)
          return Promise.reject(new Error('no'))
        },
        { mayAssume: true },
      ),
    )
    expect((await work.send('POST')).status).toBe(500)
    expect(tried).toEqual([true])
  })

  test('assumes nothing unless it asked for that', async () => {
    const tried: Array<boolean | undefined> = []
    await using work = await openWork(context => context.change(requiringValue('other', tried)))
    expect((await work.send('POST')).status).toBe(200)
    expect(tried).toEqual([false])
  })
})

test('context.step stays committed if the change is refused afterwards', async () => {
  await using work = await openWork(async context => {
    await context.step(writing('point'))
    return context.change(() => refuse('account_paused'))
  })
  expect((await work.send('POST')).status).toBe(409)
  expect(await work.rows()).toEqual(['point'])
})

describe('a handler', () => {
  test.each<[string, Work]>([
    [
      'changes twice',
      async context => {
        await context.change(writing('one'))
        return context.change(writing('two'))
      },
    ],
    [
      'takes a step after its change',
      async context => {
        const answer = await context.change(writing('one'))
        await context.step(writing('two'))
        return answer
      },
    ],
    [
      'takes a step within its change',
      context =>
        context.change(async unit => {
          await writing('one')(unit)
          return context.step(writing('two'))
        }),
    ],
  ])('that %s is stopped in production too', async (_, work) => {
    await using working = await openWork(work, { isStrict: false })
    expect((await working.send('POST')).status).toBe(500)
    expect((await working.rows()).filter(name => name === 'two')).toEqual([])
  })

  test.each<[string, Work]>([
    ['with the query builder', context => write(context.db, 'one').then(() => 'one')],
    [
      'in SQL',
      async context => {
        await sql`insert into sealed_value (name, sealed) values ('one', '')`.execute(context.db)
        return 'one'
      },
    ],
    [
      'in a transaction of its own',
      context => context.db.transaction().execute(tx => write(tx, 'one').then(() => 'one')),
    ],
    [
      'in SQL that begins with a query',
      async context => {
        await sql`
          with gone as (delete from sealed_value returning name) insert into sealed_value
          select 'one', ''::bytea from gone`.execute(context.db)
        return 'one'
      },
    ],
    ['nothing by a change', () => Promise.resolve('one')],
    ['by a step without a change', context => context.step(writing('one'))],
    [
      'an answer that differs from what its change returned',
      context => context.change(writing('one')).then(() => 'two'),
    ],
  ])('fails in tests if it writes %s', async (_, work) => {
    await using working = await openWork(work)
    expect((await working.send('POST')).status).toBe(500)
  })

  test('may lock the rows that it reads before its change', async () => {
    await using work = await openWork(async context => {
      await sql`select name from sealed_value for update`.execute(context.db)
      await sql`select name from sealed_value for no key update`.execute(context.db)
      return context.change(() => Promise.resolve('read'))
    })
    expect(await work.send('POST')).toMatchObject({ status: 200, text: '"read"' })
  })
})
