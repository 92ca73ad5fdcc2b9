import { type RawBuilder, sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { newNonce } from '../../src/connections/kinds/graph-push/client-state.ts'
import { planSubscription } from '../../src/connections/kinds/graph-push/plan.ts'
import {
  countSubscriptions,
  findSubscription,
  recordSubscription,
} from '../../src/accounts/grants/subscriptions.ts'
import type { PushOutcome } from '../../src/kit/push-receiver.ts'
import { Secret } from '../../src/kit/secret.ts'
import type { GraphRequest } from '../../src/providers/graph/api.ts'
import { openSubscribing } from '../../src/providers/graph/subscribing.ts'
import { sampleTenant } from '../sample-rows.ts'
import { useTestDatabase } from '../use-database.ts'
import { waitUntil } from '../wait-until.ts'
import { collectionOf, openReceivers, PUSH_BASE } from './open-receivers.ts'

const database = useTestDatabase()
let opened: ReturnType<typeof openReceivers>
beforeEach(async () => {
  const { db } = database()
  opened = openReceivers(db, (await sampleTenant(db)).id)
})

const post = (body: string, nth = 0, query = ''): Promise<PushOutcome> =>
  opened.receivers[nth]!.receive({ header: () => null, query: new URLSearchParams(query), body })
const tell = (clientState: string, lifecycleEvent: unknown) =>
  post(collectionOf([clientState], { lifecycleEvent }), 1)

async function wantedOf(accountId: string): Promise<string[]> {
  const { rows } = await sql<{ wanted: string[] }>`
    select sync_wanted as wanted from account_half where account_id = ${accountId}`.execute(database().db)
  return rows[0]?.wanted ?? []
}
const toBeNoticed = (accountId: string) =>
  waitUntil('the notice', async () => (await wantedOf(accountId)).includes('notice'))

describe('a notification', () => {
  test('asks for a look at its account, and wakes its owner', async () => {
    const { accountId, clientState } = await opened.subscribe()
    const other = await opened.subscribe()
    expect(await post(collectionOf([clientState]))).toBe('taken')
    await toBeNoticed(accountId)
    await waitUntil('the wake', async () => opened.woken.length > 0)
    expect(opened.woken).toEqual([accountId])
    expect(await wantedOf(other.accountId)).toEqual([])
  })

  test('costs one statement with 999 others, of any number of accounts', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => opened.subscribe()))
    const burst = Array.from({ length: 1000 }, (_, nth) => all[nth % all.length]!.clientState)
    opened.statements.count = 0
    expect(await post(collectionOf(burst))).toBe('taken')
    for (const { accountId } of all) await toBeNoticed(accountId)
    await waitUntil('the wakes', async () => opened.woken.length >= all.length)
    expect(opened.statements.count).toBe(1)
    expect(opened.woken.toSorted()).toEqual(all.map(({ accountId }) => accountId).toSorted())
  })

  test('of a subscription that is not the last of its account, or of no live account, changes nothing', async () => {
    const earlier = await opened.subscribe()
    const deleted = await opened.subscribe()
    const paused = await opened.subscribe()
    const control = await opened.subscribe()
    const { db } = database()
    const stored = (await findSubscription(db, 'mail', earlier.accountId))!
    await recordSubscription(db, 'mail', earlier.accountId, { ...stored, nonce: newNonce() }, null)
    await db
      .updateTable('account')
      .set({ deleted_at: new Date() })
      .where('id', '=', deleted.accountId)
      .execute()
    await db.updateTable('account').set({ status: 'paused' }).where('id', '=', paused.accountId).execute()
    const all = [earlier, deleted, paused, control]
    await post(collectionOf(all.map(each => each.clientState)))
    await toBeNoticed(control.accountId)
    for (const { accountId } of [earlier, deleted, paused]) expect(await wantedOf(accountId)).toEqual([])
    await waitUntil('the wake', async () => opened.woken.length > 0)
    expect(opened.woken).toEqual([control.accountId])
  })

  test('waits for no account that is held, and reaches that one afterwards', async () => {
    const held = await opened.subscribe()
    const free = await opened.subscribe()
    const { db } = database()
    await db.transaction().execute(async step => {
      await sql`select from account_half where account_id = ${held.accountId} for share`.execute(step)
      await post(collectionOf([held.clientState, free.clientState]))
      await toBeNoticed(free.accountId)
      expect(await wantedOf(held.accountId)).toEqual([])
    })
    await toBeNoticed(held.accountId)
    await waitUntil('both wakes', async () => opened.woken.length === 2)
  })

  test.each([
    ['no JSON', '{'],
    ['no collection', '{"items":[]}'],
    ['null', 'null'],
    ['too many items', JSON.stringify({ value: Array.from({ length: 1001 }, () => ({})) })],
  ])('is refused if its body is %s', async (_, body) => {
    expect(await post(body)).toBe('forged')
    expect(opened.statements.count).toBe(0)
  })

  test('among items that are none is taken', async () => {
    const { accountId, clientState } = await opened.subscribe()
    const value = [
      null,
      1,
      'x',
      [],
      {},
      { clientState: 1 },
      { clientState: 'x'.repeat(200) },
      { clientState },
    ]
    expect(await post(JSON.stringify({ value }))).toBe('taken')
    await toBeNoticed(accountId)
    expect(opened.outcomes).toEqual([...Array.from({ length: value.length - 1 }, () => 'forged'), 'taken'])
  })
})

test.each([0, 1])('both addresses prove that they are ours (%s)', async nth => {
  expect(await post('', nth, 'validationToken=Validation%3A+Testing%2B1')).toEqual({
    echo: 'Validation: Testing+1',
  })
  expect(opened.statements.count).toBe(0)
})

describe('an event in the life of a subscription', () => {
  const eventOf = async (accountId: string) =>
    (await findSubscription(database().db, 'mail', accountId))?.event

  test.each([
    ['reauthorizationRequired', 'reauthorize'],
    ['subscriptionRemoved', 'removed'],
    ['missed', 'missed'],
  ])('%s is stored as %s, and asks for a look', async (name, stored) => {
    const { accountId, clientState } = await opened.subscribe()
    expect(await tell(clientState, name)).toBe('taken')
    await toBeNoticed(accountId)
    expect(await eventOf(accountId)).toBe(stored)
  })

  test('of a removal outlasts others, in one push and after it', async () => {
    const { accountId, clientState } = await opened.subscribe()
    const value = ['subscriptionRemoved', 'missed'].map(lifecycleEvent => ({ clientState, lifecycleEvent }))
    await post(JSON.stringify({ value }), 1)
    await toBeNoticed(accountId)
    expect(await eventOf(accountId)).toBe('removed')
    const other = await opened.subscribe()
    await tell(clientState, 'missed')
    await tell(other.clientState, 'missed')
    await toBeNoticed(other.accountId)
    expect(await eventOf(accountId)).toBe('removed')
  })

  test('that comes while the subscription is renewed for an earlier one is acted upon after that', async () => {
    const { accountId, clientState } = await opened.subscribe()
    const toBe = (event: string) =>
      waitUntil(`the event ${event}`, async () => (await eventOf(accountId)) === event)
    await tell(clientState, 'reauthorizationRequired')
    await toBe('reauthorize')
    const plan = planSubscription(
      { db: database().db, states: opened.states, base: PUSH_BASE },
      { id: accountId, delegate_account_id: null },
    )!
    const methods: unknown[] = []
    const askRoot = async <T>({ method, schema }: GraphRequest<T>) => {
      methods.push(method)
      await tell(clientState, 'missed')
      await toBe('missed')
      const expirationDateTime = new Date(Date.now() + 3_600_000).toISOString()
      return { status: 200, value: schema.parse({ expirationDateTime }) }
    }
    const token = async () => new Secret('token')
    const subscribing = openSubscribing(
      { askRoot, now: Date.now },
      { resource: 'users/user/messages', plan, tokens: { get: token, renew: token } },
    )
    await subscribing.keep(new AbortController().signal)
    expect(methods).toEqual(['PATCH'])
    expect(await eventOf(accountId)).toBe('missed')
    expect(await subscribing.noted()).toBe('pass')
    expect(await eventOf(accountId)).toBeNull()
  })

  test('that is unknown, or of an earlier subscription, changes nothing', async () => {
    const { accountId, clientState } = await opened.subscribe()
    const control = await opened.subscribe()
    await tell(clientState, 'somethingElse')
    await tell(clientState, null)
    await tell(opened.states.make({ accountId, kind: 'mail', nonce: newNonce() }), 'subscriptionRemoved')
    await tell(control.clientState, 'missed')
    await toBeNoticed(control.accountId)
    expect(await eventOf(accountId)).toBeNull()
    expect(await wantedOf(accountId)).toEqual([])
    expect(opened.outcomes).toEqual(['unknown', 'unknown', 'event', 'event'])
  })
})

test('a subscription does not outlast the grant under which it was made', async () => {
  const { accountId } = await opened.subscribe()
  const { db } = database()
  expect(await findSubscription(db, 'mail', accountId)).not.toBeNull()
  await sql`update oauth_grant set created_at = clock_timestamp() where account_id = ${accountId}`.execute(db)
  expect(await findSubscription(db, 'mail', accountId)).toBeNull()
})

test('subscriptions are counted by their state', async () => {
  const { db } = database()
  const before = await countSubscriptions(db)
  const all = await Promise.all(Array.from({ length: 7 }, () => opened.subscribe()))
  const [due, noted, expired, without, regranted, paused] = all.map(({ accountId }) => accountId)
  const change = (id: string | undefined, set: RawBuilder<unknown>) =>
    sql`update half_subscription set ${set} where account_id = ${id}`.execute(db)
  await change(due, sql`renew_at = clock_timestamp()`)
  await change(noted, sql`event = 'missed'`)
  await change(expired, sql`renew_at = clock_timestamp(), expires_at = clock_timestamp()`)
  await sql`delete from half_subscription where account_id = ${without}`.execute(db)
  await sql`update oauth_grant set created_at = clock_timestamp() where account_id = ${regranted}`.execute(db)
  await sql`update account set status = 'paused' where id = ${paused}`.execute(db)
  const after = await countSubscriptions(db)
  const grown = Object.entries(after).map(([state, count]) => [
    state,
    count - before[state as keyof typeof before],
  ])
  expect(Object.fromEntries(grown)).toEqual({ current: 1, due: 2, expired: 1, none: 2 })
})
