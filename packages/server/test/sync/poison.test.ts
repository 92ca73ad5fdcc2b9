import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { findFreePort, readMetric } from '../metrics.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { connectMailbox, openSyncApp, readMessages } from './followed-account.ts'
import {
  openProxiedAccount,
  retryUntil,
  shortMessages,
  waitForAnotherPass,
  waitForMessageEvents,
  waitForRuntime,
} from './proxied-account.ts'
import { waitUntil } from '../wait-until.ts'

const server = useServer(() => startDovecot())
const MESSAGES = 40
const POISON = 17

describe('a message', () => {
  test.concurrent.each([
    ['ends the connection', 'cut'],
    ['is refused', 'refuse'],
    ['is left out of the answer', 'omit'],
  ] as const)(
    'that %s is quarantined, reported, and indexed when the server returns it later',
    async (_, does) => {
      const metricsPort = await findFreePort()
      await using account = await openProxiedAccount({
        server: server(),
        config: { metricsPort },
        arrange: world => world.deliver(shortMessages(1, 3)),
      })
      const { app, proxy, world, accountId, cursor } = account
      const [first = 0] = await world.uids('INBOX')
      proxy.faults = { poison: { uids: [first + 2 + POISON], does } }
      await world.deliver(shortMessages(100 + 1, MESSAGES))

      // After the connection ended, ever smaller parts of the request are tried.
      await retryUntil(
        app,
        accountId,
        'one message quarantined',
        async () => (await countQuarantined(app.db)) === 1,
      )
      const told = await waitForMessageEvents(app, cursor, MESSAGES - 1)
      expect(told.toSorted()).toEqual(createdExcept(100 + POISON).toSorted())
      await waitForRuntime(app, accountId, 'live', /; 1 messages could not be read and are tried again$/)
      expect(await readMetric(metricsPort, 'waxwing_messages_quarantined')).toBe(1)

      await makeDue(app.db, '1 hour')
      proxy.faults = {}
      await waitForAnotherPass(proxy)
      expect(await countQuarantined(app.db)).toBe(1)
      await makeDue(app.db)
      const healed = await waitForMessageEvents(app, cursor, MESSAGES)
      expect(healed.at(-1)).toBe(`message.created message ${100 + POISON}`)
      expect(await countQuarantined(app.db)).toBe(0)
      await waitForRuntime(app, accountId, 'live', /s$/)
      expect(await readMessages(app, accountId)).toHaveLength(3 + MESSAGES)
      expect(await readMetric(metricsPort, 'waxwing_messages_quarantined')).toBe(0)
    },
  )

  test.concurrent('that ends the connection does not keep the first sync from finishing', async () => {
    const user = await server().addUser()
    await using world = await openWorld(server(), user)
    await world.deliver(shortMessages(1, MESSAGES))
    await using proxy = await startChaosProxy(server(), { poison: { uids: [POISON], does: 'cut' } })
    await using app = await openSyncApp()
    const accountId = await connectMailbox(app, proxy, user)
    await retryUntil(app, accountId, 'the first sync', async () => {
      const { body } = await app.get<Account>(`/v1/accounts/${accountId}`)
      return body.initializedAt !== null
    })
    expect(await readMessages(app, accountId)).toHaveLength(MESSAGES - 1)
    expect(await readQuarantine(app.db)).toMatchObject({ reason: expect.stringContaining('connection') })
  })

  test.concurrent('that cannot be read is retried at growing intervals, and forgotten when it is deleted', async () => {
    await using account = await openProxiedAccount({
      server: server(),
      arrange: world => world.deliver(shortMessages(1, 1)),
    })
    const { app, proxy, world, cursor } = account
    const [first = 0] = await world.uids('INBOX')
    proxy.faults = { poison: { uids: [first + 1], does: 'refuse' } }
    await world.deliver(shortMessages(2, 2))
    await waitForMessageEvents(app, cursor, 1)
    for (let attempts = 1; attempts <= 3; attempts++) {
      await waitUntil(`try ${attempts}`, async () => (await readQuarantine(app.db))?.attempts === attempts)
      const { seconds = 0 } = (await readQuarantine(app.db)) ?? {}
      expect(seconds).toBeGreaterThan(attempts < 3 ? 30 : 80_000)
      expect(seconds).toBeLessThanOrEqual(attempts < 3 ? 60 : 86_400)
      await makeDue(app.db)
    }
    await world.expunge('INBOX', [first + 1])
    await waitUntil('the end of it', async () => (await countQuarantined(app.db)) === 0)
    expect(await waitForMessageEvents(app, cursor, 1)).toEqual(['message.created message 3'])
  })

  test.concurrent('that the database refuses is quarantined alone, and indexed when the database accepts it', async () => {
    await using account = await openProxiedAccount({
      server: server(),
      arrange: world => world.deliver(shortMessages(1, 1)),
    })
    const { app, world, accountId, cursor } = account
    await sql`
      create function refuse_poison() returns trigger language plpgsql as $$
        begin raise exception 'no such text' using errcode = '22P05'; end $$
    `.execute(app.db)
    await sql`
      create trigger refuse_poison before insert on message for each row
      when (new.subject = ${sql.lit(`message ${100 + POISON}`)}) execute function refuse_poison()
    `.execute(app.db)
    await world.deliver(shortMessages(100 + 1, MESSAGES))
    expect((await waitForMessageEvents(app, cursor, MESSAGES - 1)).toSorted()).toEqual(
      createdExcept(100 + POISON).toSorted(),
    )
    await waitForRuntime(app, accountId, 'live', /; 1 messages could not be read/)
    expect(await readQuarantine(app.db)).toMatchObject({ reason: 'refused by the index: 22P05' })

    await sql`drop trigger refuse_poison on message`.execute(app.db)
    await makeDue(app.db)
    expect((await waitForMessageEvents(app, cursor, MESSAGES)).at(-1)).toBe(
      `message.created message ${100 + POISON}`,
    )
  })
})

function createdExcept(missing: number): string[] {
  return Array.from({ length: MESSAGES }, (_, index) => 101 + index)
    .filter(number => number !== missing)
    .map(number => `message.created message ${number}`)
}

async function countQuarantined(db: Db): Promise<number> {
  return (await db.selectFrom('quarantined_message').select('uid').execute()).length
}

async function readQuarantine(db: Db) {
  const { rows } = await sql<{ attempts: number; reason: string; seconds: number }>`
    select attempts, reason, extract(epoch from next_attempt_at - clock_timestamp())::float8 as seconds
    from quarantined_message
  `.execute(db)
  return rows[0]
}

/** Lets the next try be due after this time. */
async function makeDue(db: Db, after = '0 seconds'): Promise<void> {
  await sql`update quarantined_message set next_attempt_at = clock_timestamp() + ${after}::interval`.execute(
    db,
  )
}
