import { Agent, request } from 'node:http'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import { openEmbedded } from '../packages/server/src/database/embedded.ts'
import { clientSettings } from '../packages/server/src/database/pool.ts'
import type { Tables } from '../packages/server/src/database/tables.ts'
import { listSummaries } from '../packages/server/src/features/messages/store.ts'
import { silentLog } from '../packages/server/src/kit/log.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { load, median, short } from './figures.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { type BenchService, startBenchService } from './service.ts'

const MESSAGES = 20_000
const SECONDS = 5
const RUNS = 3

export const listPage: Benchmark = {
  name: 'list-page',
  about: 'A page of 50 messages over HTTP with a key, by the same SQL through pg with a named statement.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    await using service = await startBenchService()
    const accountId = await service.connect(server, user)
    await service.untilInitialized(accountId)
    await using sql = await openSameSql(service.folder.path, accountId)
    const http = openHttp(service, `/v1/accounts/${accountId}/messages?limit=50`)

    for (const callers of [1, 16]) {
      const runs = { http: [] as Figures[], sql: [] as Figures[] }
      for (let run = 0; run <= RUNS; run++) {
        runs.sql.push(await load(callers, SECONDS, sql.run))
        runs.http.push(await load(callers, SECONDS, http))
      }
      // The first of each warms up.
      const pick = (of: 'http' | 'sql', figure: keyof Figures) =>
        median(runs[of].slice(1).map(each => each[figure]))
      const [name, unit] =
        callers === 1 ? (['p50Ms', 'p50 in ms'] as const) : (['perSecond', 'pages per second'] as const)
      report({
        measure: `${callers} caller${callers === 1 ? '' : 's'}, ${unit}`,
        result: short(pick('http', name)),
        yardstick: `SQL ${short(pick('sql', name))}`,
        ratio: pick('http', name) / pick('sql', name),
        target: callers === 1 ? '≤ 2.5 (1.8)' : '≥ 0.40 (0.6)',
      })
    }
  },
}

interface Figures {
  p50Ms: number
  perSecond: number
}

/** The statement that the service itself makes of the request, taken from its own query builder. */
async function openSameSql(dataDir: string, accountId: string) {
  const embedded = await openEmbedded({ dataDir, as: 'command', log: silentLog })
  const pool = new Pool({ ...clientSettings(embedded.address, 'waxwing bench'), max: 16 })
  let statement = { sql: '', parameters: [] as readonly unknown[] }
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: event => {
      statement = event.query
    },
  })
  const { tenant_id: tenantId } = await db
    .selectFrom('account')
    .select('tenant_id')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  await listSummaries(db, { tenantId, id: accountId }, { filters: {}, position: null, limit: 50 })
  const query = { name: 'page', text: statement.sql, values: [...statement.parameters] }
  return {
    run: () => pool.query(query),
    async [Symbol.asyncDispose]() {
      await pool.end()
      await embedded[Symbol.asyncDispose]()
    },
  }
}

/** node:http with kept connections: fetch takes as long as the answer itself. */
function openHttp({ address, key }: BenchService, path: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const options = { agent, headers: { authorization: `Bearer ${key}` } }
  return () =>
    new Promise<number>((resolve, reject) => {
      const sent = request(address + path, options, answer => {
        let bytes = 0
        answer.on('data', (chunk: Buffer) => (bytes += chunk.length))
        answer.on('end', () =>
          answer.statusCode === 200 ? resolve(bytes) : reject(new Error(`${answer.statusCode}`)),
        )
      })
      sent.on('error', reject)
      sent.end()
    })
}
