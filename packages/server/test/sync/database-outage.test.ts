import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/database/migrate.ts'
import { type Database, openDatabase } from '../../src/database/pool.ts'
import { type PostgresServer, startPostgresServer } from '../postgres-server.ts'
import { waitUntil } from '../wait-until.ts'
import { messageEvents, openProxiedAccount, readRuntime, shortMessage } from './proxied-account.ts'
import { readFeed } from './followed-account.ts'

/** A lease that expires as in production, only sooner. */
const QUICK_LEASE = { leaseSeconds: 3, heartbeatSeconds: 0.5, answerSeconds: 1, fenceSeconds: 2 }

interface Outage {
  begin(server: PostgresServer): Promise<void>
  end(server: PostgresServer): Promise<void>
}

const stopped: Outage = { begin: server => server.stop(), end: server => server.start() }
const frozen: Outage = { begin: server => server.freeze(), end: server => server.thaw() }

async function openDatabaseServer() {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startPostgresServer())
  const address = server.address('postgres')
  await migrate(address)
  const database: Database = opened.use(openDatabase({ address, applicationName: 'waxwing test' }))
  const owned = opened.move()
  return { server, database, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

describe('after an outage of the database that outlasts the lease', () => {
  test.concurrent.each([
    ['stopped', stopped],
    ['frozen', frozen],
  ])('accounts are followed again by the same process when the database was %s', async (_, outage) => {
    await using postgres = await openDatabaseServer()
    const { server, database } = postgres
    await using account = await openProxiedAccount({
      database,
      pace: { pollSeconds: 1, lease: QUICK_LEASE },
      arrange: world => world.deliver([shortMessage('before')]),
    })
    const { app, proxy, world, accountId, cursor } = account
    const owner = (await readRuntime(app, accountId))?.ownerInstanceId
    const lapses = () => app.logLines.filter(line => line.includes('Letting all accounts go')).length

    for (let round = 1; round <= 2; round++) {
      const before = lapses()
      await outage.begin(server)
      await waitUntil('the lease to lapse', () => Promise.resolve(lapses() > before))
      await waitUntil('the connection to end', () => Promise.resolve(proxy.stats.connections === 0))
      await outage.end(server)
      await world.deliver([shortMessage(`after ${round}`)])
      await waitUntil('the new message', async () =>
        messageEvents((await readFeed(app, cursor)).events).includes(
          `message.created message after ${round}`,
        ),
      )
    }
    const runtime = await waitUntil('live', async () => {
      const now = await readRuntime(app, accountId)
      return now?.state === 'live' && now
    })
    expect(runtime.ownerInstanceId).not.toBe(owner)
    expect(messageEvents((await readFeed(app, cursor)).events)).toEqual([
      'message.created message after 1',
      'message.created message after 2',
    ])
  })
})
