/** @module-tag postgres-16 */
import { type RawBuilder, sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { openDatabase } from '../database/pool.ts'
import { silentLog } from '../kit/log.ts'
import { Pulse } from './pulse.ts'

/** A pulse over a table of names: each question asks whether its name is there. */
async function openPulse() {
  await using opened = new AsyncDisposableStack()
  const { db, address } = opened.use(await openTestDatabase())
  await sql`create table due (name text)`.execute(db)
  const own = opened.use(openDatabase({ address, applicationName: 'waxwing pulse' }))
  const pulse = opened.use(new Pulse(own.db, silentLog, 0.1))
  const told = new Map<string, number>()
  const count = (name: string) => told.get(name) ?? 0
  const owned = opened.move()
  return {
    db,
    own,
    count,
    ask(
      name: string,
      isDue = (): RawBuilder<boolean> | null => sql`exists (select from due where name = ${name})`,
    ) {
      return pulse.ask({ isDue, onDue: () => void told.set(name, count(name) + 1) })
    },
    add: (name: string) => sql`insert into due values (${name})`.execute(db),
    remove: (name: string) => sql`delete from due where name = ${name}`.execute(db),
    told: (name: string, times = 1) => waitUntil(name, async () => count(name) >= times),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('each question is told while its own condition holds, and only then', async () => {
  await using pulse = await openPulse()
  for (const name of ['a', 'b', 'c']) pulse.ask(name)
  await pulse.add('b')
  await pulse.told('b', 2)
  await pulse.remove('b')
  await pulse.add('c')
  await pulse.told('c')
  const before = pulse.count('b')
  await pulse.told('c', 3)
  expect([pulse.count('a'), pulse.count('b')]).toEqual([0, before])
})

test('all questions are one statement; one that has nothing to ask is left out, and one that ended is not told', async () => {
  await using pulse = await openPulse()
  for (const name of ['a', 'b', 'c']) await pulse.add(name)
  pulse.ask('a')
  let isAsked = false
  pulse.ask('b', () => (isAsked ? sql`true` : null))
  const ended = pulse.ask('c')
  ended[Symbol.dispose]()
  await pulse.told('a', 2)
  expect([pulse.count('b'), pulse.count('c')]).toEqual([0, 0])
  isAsked = true
  await pulse.told('b')
  expect(pulse.own.pool.totalCount).toBe(1)
})

test('a pulse that failed is followed by others', async () => {
  await using pulse = await openPulse()
  await sql`alter table due rename to hidden`.execute(pulse.db)
  pulse.ask('a')
  let asked = 0
  pulse.ask('b', () => {
    asked++
    return sql`true`
  })
  await waitUntil('a pulse', async () => asked > 1)
  expect(pulse.count('b')).toBe(0)
  await sql`alter table hidden rename to due`.execute(pulse.db)
  await pulse.add('a')
  await pulse.told('a')
})
