import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../open-database.ts'
import type { TestApp, TestAppOptions } from '../open-app.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectMailbox, openSyncApp, readFeed, waitForFirstSync } from './followed-account.ts'

const useIt = useServer(SERVER_KINDS[0].start)

test('an account whose server is no longer allowed shows that, is announced once, and recovers with the settings', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using database = await openTestDatabase()
  let accountId = ''
  let cursor = ''
  const run = async (options: TestAppOptions, work: (app: TestApp) => Promise<unknown>) => {
    await using app = await openSyncApp({ database, ...options })
    await work(app)
    return app.keyRing
  }
  const untilReason = (reason: string | null) => async (app: TestApp) => {
    await waitUntil('the reason', async () => {
      const { body } = await app.get<Account>(`/v1/accounts/${accountId}`)
      expect(body.status).toBe('active')
      return body.statusReason === reason
    })
    // Further attempts cause no further events.
    await app.post(`/v1/accounts/${accountId}/sync`)
  }

  const keyRing = await run({}, async app => {
    accountId = await connectMailbox(app, server, user)
    await waitForFirstSync(app, accountId)
    cursor = (await readFeed(app)).cursor
  })
  await run({ keyRing, egressAllow: [] }, untilReason('server_not_allowed'))
  await run({ keyRing }, async app => {
    await untilReason(null)(app)
    const { events } = await readFeed(app, cursor)
    expect(events.map(({ type, data }) => [type, data.changes])).toEqual([
      ['account.updated', ['statusReason']],
      ['account.updated', ['statusReason']],
    ])
  })
})
