import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { AccountIntegrity } from '@waxwing/contract/integrity/integrity.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { openWorld } from '../servers/world.ts'
import { makeDataFolder, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { connectMailbox, readFeed, readMessages, waitForFirstSync } from './followed-account.ts'
import { messageEvents, shortMessages } from './proxied-account.ts'
import { numberFor } from '../soak.ts'

const PROGRAM = fileURLToPath(new URL('quick-service.ts', import.meta.url))
const MESSAGES = numberFor({ ci: 150, soak: 300 })
const KILLS = numberFor({ ci: 1, soak: 2 })

test('a service that is killed while it compares and repairs ends verified, and announces each repair once', async () => {
  await using external = await makeExternalDatabase({ migrated: true })
  await using folder = await makeDataFolder()
  const { db } = external.database
  const options = {
    program: PROGRAM,
    env: {
      DATABASE_URL: external.url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
    },
  }
  await using server = await startDovecot()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver(shortMessages(0, MESSAGES))
  let service = await startServiceProcess(folder, options)
  const key = service.key ?? ''
  const caller = () => callerOf(service.address, key)
  try {
    const accountId = await connectMailbox(caller(), server, user)
    await waitForFirstSync(caller(), accountId)
    const { cursor } = await readFeed(caller())
    const lost = await sql<{ subject: string }>`
      delete from message where id in (select id from message order by id limit 60) returning subject
    `.execute(db)
    const path = `/v1/accounts/${accountId}/integrity`
    await caller().get(`${path}?refresh=true`)

    for (let kill = 0; kill < KILLS; kill++) {
      // At another moment each time: how many messages are back decides.
      await waitUntil('some progress', async () => (await countMessages()) >= MESSAGES - 60 + kill * 30)
      service.kill('SIGKILL')
      await service.ended
      // As it would end by itself later.
      await sql`update instance set heartbeat_until = '-infinity'`.execute(db)
      service = await startServiceProcess(folder, options)
    }
    const integrity = await waitUntil('the end of the repair', async () => {
      const { body } = await caller().get<AccountIntegrity>(path)
      return body.state === 'verified' ? body : null
    })

    expect(integrity).toMatchObject({ missing: 0, extra: 0, changed: 0 })
    expect(await readMessages(caller(), accountId)).toHaveLength(MESSAGES)
    const told = messageEvents((await readFeed(caller(), cursor)).events)
    expect(told.toSorted()).toEqual(lost.rows.map(({ subject }) => `message.created ${subject}`).toSorted())
  } finally {
    await service[Symbol.asyncDispose]()
  }

  async function countMessages(): Promise<number> {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from message`.execute(db)
    return rows[0]?.count ?? 0
  }
})
