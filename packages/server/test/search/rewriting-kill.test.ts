import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/database/embedded/embedded.ts'
import { clientSettings } from '../../src/database/pool.ts'
import { silentLog } from '../../src/kit/log.ts'
import { SEARCH_VERSION } from '../../src/kit/search-text/version.ts'
import { callerOf } from '../caller.ts'
import { generateMail } from '../mail/corpus.ts'
import { seeded } from '../seeded.ts'
import { fillMailboxes } from '../servers/fill.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { makePreparedFolder } from '../prepared-folder.ts'
import { startServiceProcess } from '../service-process.ts'
import { connectMailbox, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { numberFor } from '../soak.ts'

const COUNT = numberFor({ ci: 150, soak: 500 })
const KILLS = numberFor({ ci: 1, soak: 3 })
const OPTIONS = {
  program: fileURLToPath(new URL('../sync/quick-service.ts', import.meta.url)),
  env: { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true' },
}

/** The states of documents that earlier releases and crashes leave behind. */
const SPOILED = {
  'nothing wrong': null,
  'no document': 'delete from message_search where message_id = any($1)',
  'no document, and a body that waits': `
    with gone as (delete from message_search where message_id = any($1))
    update message_blob set is_indexed = false where message_id = any($1)`,
  'words of other rules': `
    update message_search set version = 0, document = '''old'':1A ''rules'':2' where message_id = any($1)`,
  'no words of its body': `
    update message_search set version = 0, document = ts_filter(document, '{a,b,c}') where message_id = any($1)`,
  'the right words, of an earlier version':
    'update message_search set version = 0 where message_id = any($1)',
}

const useIt = useServer(SERVER_KINDS[0].start)

test('documents rewritten by a service that is killed repeatedly equal new ones', async () => {
  const server = useIt()
  const user = await server.addUser()
  await fillMailboxes(server, user, generateMail({ seed: 11, count: COUNT, sizeMedian: 3000 }))
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makePreparedFolder())
  let service = await startServiceProcess(folder, OPTIONS)
  opened.defer(() => service[Symbol.asyncDispose]())
  const caller = callerOf(service.address, service.key)
  const embedded = opened.use(await openEmbedded({ dataDir: folder.path, as: 'command', log: silentLog }))
  const session = new Client(clientSettings(embedded.address, 'waxwing test'))
  await session.connect()
  opened.defer(() => session.end())
  const documents = async () => {
    const { rows } = await session.query<{ id: string; document: string; is_indexed: boolean | null }>(`
      select message.id, document::text, is_indexed from message
      left join message_search on message_search.message_id = message.id
      left join message_blob on message_blob.message_id = message.id
      order by message.id`)
    return rows
  }
  const look = async () => {
    const { rows } = await session.query<{ current: number; version: number; unstored: number }>(
      `
      select (select count(*)::int from message_search where version = $1) as current,
        (select search_version from account_half) as version,
        (select count(*)::int from message left join message_blob on message_blob.message_id = message.id
          where not is_draft and is_indexed is not true) as unstored`,
      [SEARCH_VERSION],
    )
    return rows[0]!
  }

  const accountId = await connectMailbox(caller, server, user, { bodyStorage: 'full', syncWindowDays: null })
  await waitForFirstSync(caller, accountId)
  await waitUntil('every body', async () => (await look()).unstored === 0)
  // From now on, only the rewriter writes.
  await caller.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  const fresh = await documents()
  expect(fresh.length).toBeGreaterThan(COUNT / 2)

  service.kill('SIGKILL')
  await service.ended
  const random = seeded('spoiled')
  const ways = Object.values(SPOILED)
  const spoiled = Map.groupBy(fresh, () => ways[random.between(0, ways.length - 1)])
  for (const [statement, rows] of spoiled)
    if (statement) await session.query(statement, [rows.map(({ id }) => id)])
  await session.query('update account_half set search_version = 0')
  const { current: left } = await look()

  // The oldest row is locked, so that no run ends before the service is killed.
  const [oldest] = (
    await session.query<{ id: string }>(
      `select message_id as id from message_search where version = 0 order by received_at, message_id limit 1`,
    )
  ).rows
  await session.query('begin')
  await session.query('select from message_search where message_id = $1 for update', [oldest?.id])
  for (let kill = 1; kill <= KILLS; kill++) {
    service = await startServiceProcess(folder, OPTIONS)
    const enough = left + (kill * (fresh.length - 1 - left)) / KILLS
    await waitUntil('some are rewritten', async () => (await look()).current >= enough)
    service.kill('SIGKILL')
    await service.ended
    expect((await look()).version).toBe(0)
  }
  await session.query('commit')

  service = await startServiceProcess(folder, OPTIONS)
  await waitUntil('the account is current', async () => (await look()).version === SEARCH_VERSION)
  expect(await documents()).toEqual(fresh)
})
