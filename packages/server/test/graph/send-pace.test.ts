import { isDeepStrictEqual } from 'node:util'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestApp } from '../open-app.ts'
import { hurry } from '../sending/killable-sending.ts'
import { send, sendEvents } from '../sending/open-sending.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, openGraphApp } from './open-graph-app.ts'

const SENDS_PER_MINUTE = 30

test('messages beyond 30 in a minute wait, whichever process has sent the others', async () => {
  await using opened = await openGraphApp({ roles: ['api', 'sync'] })
  const { app, sandbox } = opened
  const account = await connectGraph(opened)
  const openSender = () =>
    openTestApp({
      roles: ['jobs'],
      database: app.database,
      keyRing: app.keyRing,
      config: { sandboxUrl: sandbox.controlUrl },
    })
  const path = `/v1/accounts/${account.accountId}/outbox?limit=200`
  const count = async (status: OutboxEntry['status']) =>
    (await app.get<{ items: OutboxEntry[] }>(`${path}&status=${status}`)).body.items.length
  const sendMany = async (many: number) => {
    for (let nth = 0; nth < many; nth++) await send(app, account.accountId)
  }
  {
    await using _first = await openSender()
    await sendMany(20)
    await waitUntil('all of the first process', async () => (await count('sent')) === 20)
  }
  await using _second = await openSender()
  await sendMany(13)
  const waitsUntil = () =>
    app.db
      .selectFrom('sending_account')
      .select('paused_until')
      .where('account_id', '=', account.accountId)
      .executeTakeFirstOrThrow()
  await waitUntil('the rest to wait', async () => {
    const { paused_until: until } = await waitsUntil()
    // An attempt may still be under way when another one finds that the rest has to wait.
    const counts = [await count('sent'), await count('queued')]
    return until !== null && isDeepStrictEqual(counts, [SENDS_PER_MINUTE, 33 - SENDS_PER_MINUTE])
  })
  expect(await account.client.all('mailFolders/sentitems/messages?$top=100')).toHaveLength(SENDS_PER_MINUTE)

  // In place of a minute.
  await sandbox.turnClock(61)
  await sql`
    update quota_use set seconds = array(select second - 61 from unnest(seconds) with ordinality as used (second, nth) order by nth)
  `.execute(app.db)
  await waitUntil('all to be sent', async () => {
    await hurry(app.db)
    return (await count('sent')) === 33
  })
  expect(await account.client.all('mailFolders/sentitems/messages?$top=100')).toHaveLength(33)
  const { items } = await sandbox.calls({ host: 'graph.microsoft.com', method: 'POST' })
  expect(items.filter(({ status }) => status === 429)).toEqual([])
  expect((await sendEvents(app)).map(({ type }) => type)).toEqual(Array(33).fill('send.sent'))
})
