import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { startRedis } from '../packages/server/test/servers/redis.ts'
import { runWaxwing } from '../packages/server/test/service-process.ts'
import { short } from './figures.ts'
import { openPageGet } from './http.ts'
import { compareLoad } from './load.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { type BenchService, MEASURED_PROGRAM, startBenchService } from './service.ts'

const MESSAGES = 20_000
/** Never reached, but counted. */
const LIMIT = '1000000000'
/** A key that is in use sees its tenant's new plan after 5 seconds. */
const PLAN_SECONDS_MAX = 10

export const pagesRedis: Benchmark = {
  name: 'pages-redis',
  about: 'A page of 50 messages with a key whose plan has limits: counted in Redis, compared with in memory.',
  async run(report) {
    await using server = await startDovecot()
    await using redis = await startRedis()
    const user = await makeFullMailbox(server, MESSAGES)
    await using inMemory = await startBenchService()
    await using inRedis = await startBenchService({ env: { REDIS_URL: redis.url } })
    using memory = await openPages(inMemory, server, user)
    using shared = await openPages(inRedis, server, user)

    for (const callers of [1, 16]) {
      const figures = await compareLoad(callers, { memory: memory.get, redis: shared.get })
      const [ours, theirs] = [figures.redis, figures.memory]
      report({
        measure: `${callers} caller${callers === 1 ? '' : 's'}, pages per second`,
        result: short(ours.perSecond),
        yardstick: `in memory ${short(theirs.perSecond)}`,
        ratio: ours.perSecond / theirs.perSecond,
        target: '≥ 0.90',
        cpu: ours.cpu,
      })
    }
  },
}

/** Connects the mailbox, limits the tenant, and makes what gets a page. */
async function openPages(service: BenchService, server: MailServer, user: TestUser) {
  const accountId = await service.connect(server, user)
  await service.untilInitialized(accountId)
  const env = { WAXWING_DATA_DIR: service.folder.path }
  for (const args of [
    ['plan', 'create', 'limited', '--api-calls-per-minute', LIMIT, '--api-calls-per-minute-per-key', LIMIT],
    ['plan', 'assign', 'limited'],
  ]) {
    const { code, stderr } = await runWaxwing(args, { program: MEASURED_PROGRAM, env })
    if (code !== 0) throw new Error(stderr)
  }
  const path = `/v1/accounts/${accountId}/messages?limit=50`
  const end = performance.now() + PLAN_SECONDS_MAX * 1000
  while (!(await service.get(path)).headers.has('ratelimit-limit'))
    if (performance.now() > end) throw new Error('Requests are not counted')
  return openPageGet(service, path)
}
