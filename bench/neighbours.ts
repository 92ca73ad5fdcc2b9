import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { type Caller, callerOf } from '../packages/server/test/caller.ts'
import { runWaxwing } from '../packages/server/test/service-process.ts'
import { median, percentile, short } from './figures.ts'
import type { Benchmark } from './row.ts'
import { type BenchService, MEASURED_PROGRAM, startBenchService } from './service.ts'
import { startSmtpTaker } from './smtp-taker.ts'

const SENDS_AT_ONCE = 14
const TOKENS = 60
const CALLS_OF_A_TOKEN = 16
const SECONDS = 10
const HTML_LENGTH = 1_000_000
const TEXTS = {
  '1 MB of <': '<'.repeat(HTML_LENGTH),
  '20,000 links': '<a href="https://example.com/x">link</a>'.repeat(20_000),
}

export const neighbours: Benchmark = {
  name: 'neighbours',
  about:
    'Time that another tenant waits for an answer while one sends large HTML, 14 at a time, or calls with 60 tokens, 16 at a time each; compared with a quiet service.',
  async run(report) {
    await using imap = await startDovecot()
    await using taker = await startSmtpTaker()
    await using service = await startBenchService()
    const accountId = await service.connect(imap, await imap.addUser(), { smtpPort: taker.port })
    await service.untilInitialized(accountId)
    const other = await createNeighbour(service)
    await other.probe(50)
    const quiet = median(await other.probe(200))

    for (const [name, html] of Object.entries(TEXTS)) {
      const tookMs = await other.probeWhile(async () => {
        const sends = Array.from({ length: SENDS_AT_ONCE }, () =>
          service.post(`/v1/accounts/${accountId}/outbox`, {
            to: [{ address: 'grace@bench.test' }],
            subject: 'A large message',
            html,
          }),
        )
        for (const { status, body } of await Promise.all(sends))
          if (status !== 200) throw new Error(JSON.stringify(body))
      })
      report({
        measure: `another tenant beside ${SENDS_AT_ONCE} sends of ${name}, p50; p95 in ms`,
        result: `${short(median(tookMs))}; ${short(percentile(tookMs, 0.95))}`,
        yardstick: `quiet ${short(quiet)}`,
        ratio: null,
        target: '≤ 50',
      })
    }

    const tokens: Caller[] = []
    for (let nth = 0; nth < TOKENS; nth++) {
      const { body } = await service.post<{ token: string }>(`/v1/accounts/${accountId}/tokens`, {})
      tokens.push(callerOf(service.address, body.token))
    }
    const end = performance.now() + SECONDS * 1000
    const tookMs = await other.probeWhile(async () => {
      const callers = tokens.flatMap(token => Array.from({ length: CALLS_OF_A_TOKEN }, () => token))
      await Promise.all(
        callers.map(async token => {
          while (performance.now() < end) await token.get(`/v1/accounts/${accountId}/messages?limit=50`)
        }),
      )
    })
    report({
      measure: `another tenant beside ${TOKENS} tokens with ${CALLS_OF_A_TOKEN} calls each, refused of ${tookMs.length}; p50; p95 in ms`,
      result: `${other.refused()}; ${short(median(tookMs))}; ${short(percentile(tookMs, 0.95))}`,
      yardstick: `quiet ${short(quiet)}`,
      ratio: null,
      target: '0',
    })
  },
}

/** Another tenant of the service, which asks for its accounts. */
async function createNeighbour(service: BenchService) {
  const run = async (...args: string[]) => {
    const env = { WAXWING_DATA_DIR: service.folder.path }
    const { code, stdout, stderr } = await runWaxwing(args, { program: MEASURED_PROGRAM, env })
    if (code !== 0) throw new Error(stderr)
    return stdout
  }
  await run('tenant', 'create', 'other')
  const { key } = JSON.parse(await run('key', 'create', '--tenant', 'other', '--json')) as { key: string }
  const caller = callerOf(service.address, key)
  let refused = 0
  async function probe(count: number): Promise<number[]> {
    const tookMs: number[] = []
    for (let nth = 0; nth < count; nth++) {
      const before = performance.now()
      const { status } = await caller.get('/v1/accounts')
      tookMs.push(performance.now() - before)
      if (status !== 200) refused++
    }
    return tookMs
  }
  return {
    probe,
    refused: () => refused,
    /** Asks again and again until the work of the others is done; returns how long each answer took, in ms. */
    async probeWhile(work: () => Promise<void>): Promise<number[]> {
      const over = new AbortController()
      const worked = work().finally(() => over.abort())
      const tookMs: number[] = []
      while (!over.signal.aborted) tookMs.push(...(await probe(1)))
      await worked
      return tookMs
    },
  }
}
