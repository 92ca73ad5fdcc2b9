/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import { addHalf } from '../../../test/halves.ts'
import { sampleAccount, sampleTenant } from '../../../test/sample-rows.ts'
import { newId } from '../../kit/ids.ts'
import type { HalfKind } from './kind.ts'
import { claimAccounts } from './ownership.ts'
import { needsAttention, type NudgedHalf, takeAttention } from './wanted.ts'

/** An owned account with mail and calendars, of which something is wanted. */
async function openWanted(wanted: Partial<Record<HalfKind, string[]>>) {
  const database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const { id } = await sampleAccount(db, tenant.id)
  await addHalf(db, id, 'calendar')
  const instanceId = newId()
  const heartbeat_until = new Date(Date.now() + 50_000)
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
  const [owned] = await claimAccounts(db, instanceId, 1, sql`1 + 2`)
  for (const [kind, sync_wanted] of Object.entries(wanted) as Array<[HalfKind, string[]]>)
    await db.updateTable('account_half').set({ sync_wanted }).where('kind', '=', kind).execute()
  const isDue = async (kinds: HalfKind[], nudged: NudgedHalf[] = []) => {
    const { rows } = await sql<{ due: boolean }>`
      select ${needsAttention(instanceId, kinds, nudged)} as due
    `.execute(db)
    return rows[0]?.due
  }
  return { db, id, owned, instanceId, isDue, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

test('a claim returns the kinds of the halves, mail first', async () => {
  await using opened = await openWanted({})
  expect(opened.owned).toMatchObject({ kinds: ['mail', 'calendar'], weight: 3 })
})

test('wants and notices of a kind that nothing follows are not due, and stay', async () => {
  await using opened = await openWanted({ calendar: ['calendar', 'notice'] })
  const { db, instanceId, isDue } = opened
  expect(await isDue(['mail'])).toBe(false)
  expect(await takeAttention(db, instanceId, ['mail'])).toEqual([])
  expect(await isDue(['mail', 'calendar'])).toBe(true)
  expect(await takeAttention(db, instanceId, ['mail', 'calendar'])).toMatchObject([
    { kind: 'calendar', isNoticed: true, isWanted: true, mustStop: false },
  ])
})

test('a notice of one half is not one of the other', async () => {
  await using opened = await openWanted({ mail: ['mail'], calendar: ['notice'] })
  const all = await takeAttention(opened.db, opened.instanceId, ['mail', 'calendar'])
  expect(all).toHaveLength(2)
  expect(all).toContainEqual(expect.objectContaining({ kind: 'mail', isNoticed: false, isWanted: true }))
  expect(all).toContainEqual(expect.objectContaining({ kind: 'calendar', isNoticed: true, isWanted: false }))
})

test('a step of one half keeps no notice of another waiting, and the notice of its own half stays', async () => {
  await using opened = await openWanted({ mail: ['notice'], calendar: ['notice'] })
  const { db, instanceId } = opened
  const take = () => takeAttention(db, instanceId, ['mail', 'calendar'])
  const noticed = async () =>
    (await take()).flatMap(half => (!half.mustStop && half.isNoticed ? [half.kind] : []))
  await db.transaction().execute(async step => {
    await step.selectFrom('account_half').select('stamp').where('kind', '=', 'mail').forShare().execute()
    expect(await noticed()).toEqual(['calendar'])
  })
  expect(await noticed()).toEqual(['mail'])
})

test('a half that was nudged hides neither a restart of its own nor a want of another half', async () => {
  await using wanted = await openWanted({ mail: ['mail'] })
  const nudged: NudgedHalf[] = [{ accountId: wanted.id, kind: 'mail' }]
  expect(await wanted.isDue(['mail', 'calendar'], nudged)).toBe(false)
  expect(await wanted.isDue(['mail', 'calendar'], [{ accountId: wanted.id, kind: 'calendar' }])).toBe(true)
  await using other = await openWanted({ mail: ['mail'], calendar: ['calendar'] })
  expect(await other.isDue(['mail', 'calendar'], [{ accountId: other.id, kind: 'mail' }])).toBe(true)
  await using restart = await openWanted({ mail: ['restart'] })
  expect(await restart.isDue(['mail'], [{ accountId: restart.id, kind: 'mail' }])).toBe(true)
})
