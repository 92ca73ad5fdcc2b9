import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { waitForLock } from '../wait-for-lock.ts'
import { waitUntil } from '../wait-until.ts'
import { startWaitingProcess } from '../waiting-process.ts'
import type { CallingProcessOptions } from './calling-process.ts'
import { grantOf } from './granted-account.ts'
import { CONNECTED, failureOf, openTokenWorld, useTokenWorlds } from './open-token-world.ts'
import { SOAK } from '../soak.ts'

// A test that makes updates fail has a database of its own.
const { openWorld } = useTokenWorlds()

/** Starts a process that asks for tokens. Its result is the digests of those that its callers got. */
const startCalling = (options: CallingProcessOptions) =>
  startWaitingProcess<string[]>(new URL('calling-process.ts', import.meta.url), options)

test('gives the token of the sign-in until four fifths of its life are over, and then one refresh', async () => {
  await using world = await openWorld()
  const { endpoint, tokensOf, account } = world
  const first = await tokensOf(account).get()
  await world.turn(44)
  expect((await tokensOf(account).get()).reveal()).toBe(first.reveal())
  expect(endpoint.calls).toBe(0)
  await world.turn(8)
  const second = await tokensOf(account).get()
  expect(second.reveal()).not.toBe(first.reveal())
  expect((await tokensOf(account).get()).reveal()).toBe(second.reveal())
  expect(endpoint.calls).toBe(1)
})

test('refreshes once for fifty callers in two processes when a token has expired', async () => {
  await using world = await openWorld()
  const { endpoint, account, database, secretKey } = world
  await world.turn(61)
  const options = {
    address: database.address,
    secretKey,
    origin: endpoint.origin.href,
    account,
    callers: 25,
  }
  await using one = await startCalling(options)
  await using two = await startCalling(options)
  const digests = (await Promise.all([one.go(), two.go()])).flatMap(each => each ?? [])
  expect(digests).toHaveLength(50)
  expect(new Set(digests).size).toBe(1)
  expect(endpoint.calls).toBe(1)
  expect(await world.events()).toEqual(CONNECTED)
})

const KILLS = Number(process.env['WAXWING_TEST_TOKEN_KILLS'] ?? 2)

test.each([
  ['keeps the account', true, 'active', CONNECTED],
  ['reports a lost grant once', false, 'reauth_required', [...CONNECTED, 'account.reauth_required']],
] as const)(
  '%s when a process dies between the answer and its storing, with grace for used tokens: %s',
  async (_, hasGrace, status, events) => {
    await using world = await openWorld({ hasGrace })
    const { endpoint, account, database, secretKey, tokensOf } = world
    const kills = hasGrace ? KILLS : 1
    for (let kill = 0; kill < kills; kill++) {
      await world.turn(61)
      await using dying = await startCalling({
        address: database.address,
        secretKey,
        origin: endpoint.origin.href,
        account,
        callers: 5,
        diesAfterAnswer: true,
      })
      expect(await dying.go()).toBeNull()
      // The lease of the dead process is over.
      await world.turn(1)
      const next = tokensOf(account).get()
      if (hasGrace) await next
      else expect((await failureOf(next)).kind).toBe('grant_refused')
    }
    expect(await world.status()).toMatchObject({ status })
    expect(await world.events()).toEqual(events)
  },
  300_000 + KILLS * 10_000,
)

test('keeps the account through thirty days of refreshes with tokens that work once', SOAK, async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  const days = 30
  const timesADay = 8
  for (let time = 0; time < days * timesADay; time++) {
    await world.turn((24 * 60) / timesADay)
    await tokensOf(account).get()
  }
  expect(endpoint.calls).toBe(days * timesADay)
  expect(await world.status()).toEqual({ status: 'active', status_reason: null })
  expect(await world.events()).toEqual(CONNECTED)
})

test('gives the token that still works while the provider cannot renew it', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  const first = await tokensOf(account).get()
  await world.turn(52)
  endpoint.answer = () => ({ status: 503, body: '' })
  expect((await tokensOf(account).get()).reveal()).toBe(first.reveal())
  expect(endpoint.calls).toBe(1)
})

test('takes a lease only of the grant that it read, not of one that was renewed meanwhile', async () => {
  await using world = await openWorld()
  const { database, endpoint, account, tokensOf } = world
  await world.turn(61)
  const renewed = await database.db.transaction().execute(async renewing => {
    await sql`
      update oauth_grant set version = version + 1, issued_at = clock_timestamp(),
        expires_at = clock_timestamp() + interval '1 hour', refresh_at = clock_timestamp() + interval '48 minutes'
      where account_id = ${account.id}
    `.execute(renewing)
    const waiting = tokensOf(account).get()
    await waitForLock(database.db)
    return { waiting }
  })
  await renewed.waiting
  expect(endpoint.calls).toBe(0)
})

test('hands out no token before it is stored', async () => {
  await using world = await openTokenWorld({ hasGrace: true })
  const { account, database, tokensOf } = world
  await sql`
    create function fail() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$;
    create trigger fail before update of access_token on oauth_grant execute function fail()
  `.execute(database.db)
  await world.turn(61)
  await expect(tokensOf(account, { saveSeconds: 0.5 }).get()).rejects.toThrow()
  await sql`drop trigger fail on oauth_grant`.execute(database.db)
  await world.turn(1)
  await tokensOf(account).get()
  expect(await world.events()).toEqual(CONNECTED)
})

test('gives the token that still works while another process renews it', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  const first = await tokensOf(account).get()
  await world.turn(52)
  const held = Promise.withResolvers<null>()
  endpoint.answer = () => held.promise
  const renewing = tokensOf(account).get()
  await waitUntil('the refresh', async () => endpoint.calls === 1)
  expect((await tokensOf(account).get()).reveal()).toBe(first.reveal())
  held.resolve(null)
  expect((await renewing).reveal()).not.toBe(first.reveal())
  expect(endpoint.calls).toBe(1)
})

/** Makes the database fail updates of grants for which the condition holds, this many times. */
async function failUpdates({ database: { db } }: { database: { db: Db } }, condition: string, times: number) {
  await sql`create sequence failed_updates`.execute(db)
  await sql
    .raw(
      `create function fail_update() returns trigger language plpgsql as $$ begin
         if ${condition} and nextval('failed_updates') <= ${times} then raise exception 'the disk is full'; end if;
         return new;
       end $$;
       create trigger fail_update before update on oauth_grant for each row execute function fail_update()`,
    )
    .execute(db)
}

test('stores the answer of the provider once the database works again', async () => {
  await using world = await openTokenWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  await failUpdates(world, 'new.version > old.version', 2)
  await tokensOf(account).get()
  expect(endpoint.calls).toBe(1)
  await world.turn(61)
  await tokensOf(account).get()
  expect(endpoint.calls).toBe(2)
  expect(await world.events()).toEqual(CONNECTED)
})

test('reports the failure of the provider, although it cannot be recorded', async () => {
  await using world = await openTokenWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  await failUpdates(world, 'new.failures > old.failures', 1)
  endpoint.answer = () => ({ status: 503, body: '' })
  expect(await failureOf(tokensOf(account).get())).toMatchObject({ kind: 'unavailable' })
})

test('replaces a token that was refused, once, and not one that was just issued', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(5)
  const [one, two] = [tokensOf(account), tokensOf(account)]
  const refused = await one.get()
  await two.get()
  const [first, second] = await Promise.all([one.renew(refused), two.renew(refused)])
  expect(first?.reveal()).toBe(second?.reveal())
  expect(first?.reveal()).not.toBe(refused.reveal())
  expect(endpoint.calls).toBe(1)
  expect((await failureOf(one.renew(first!))).kind).toBe('access_refused')
  expect(endpoint.calls).toBe(1)
})

test('a caller who leaves does not end the refresh of the others', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  const held = Promise.withResolvers<void>()
  endpoint.answer = async () => {
    await held.promise
    return null
  }
  const tokens = tokensOf(account)
  const leaving = new AbortController()
  const gone = failureOf(tokens.get(leaving.signal))
  const staying = tokens.get()
  await waitUntil('the refresh', async () => endpoint.calls === 1)
  leaving.abort()
  expect((await gone).kind).toBe('unavailable')
  held.resolve()
  await staying
  expect(endpoint.calls).toBe(1)
})

test('finds the token of a grant that the user has given since, although an older one is held', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  const tokens = tokensOf(account)
  const held = await tokens.get()
  expect(await tokens.findNewer?.(held)).toBeNull()

  const renewed = grantOf(endpoint.grant())
  await world.reconnect(account.id, renewed)
  expect((await tokens.get()).reveal()).toBe(held.reveal())
  expect((await tokens.findNewer?.(held))?.reveal()).toBe(renewed.accessToken.reveal())
  expect((await tokens.get()).reveal()).toBe(renewed.accessToken.reveal())
  expect(endpoint.calls).toBe(0)
})
