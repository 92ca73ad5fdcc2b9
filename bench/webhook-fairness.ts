import { sql } from 'kysely'
import { openDatabase } from '../packages/server/src/database/pool.ts'
import { inTransaction } from '../packages/server/src/events/unit-of-work.ts'
import { createEndpoint } from '../packages/server/test/notifications/open-webhooks.ts'
import { type Receiver, startReceiver } from '../packages/server/test/notifications/receiver.ts'
import { median, percentile, short } from './figures.ts'
import { wait } from './imapflow-process.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { type BenchService, startBenchService } from './service.ts'

const ENDPOINTS = 50
const EVENTS = 200
const EVENTS_PER_SECOND = 10
const PAIRS = 3
const REFUSING = 'http://127.0.0.1:1/refuses'
const ALLOW = { WAXWING_WEBHOOK_ALLOW: '127.0.0.1', WAXWING_WEBHOOK_ALLOW_HTTP: 'true' }

export const webhookFairness: Benchmark = {
  name: 'webhook-fairness',
  about: 'From an event to its webhooks at 48 endpoints, while two more of their tenant hang and refuse.',
  async run(report) {
    await using receiver = await startReceiver()
    await using service = await startBenchService({ env: ALLOW })
    await using its = await openItsDatabase(service.folder.path)
    await using database = openDatabase({ address: its.address, applicationName: 'waxwing bench' })
    const { db } = database
    const { rows } = await sql<{ id: string }>`select id from tenant`.execute(db)
    const announce = () =>
      inTransaction(db, rows[0]!.id, async unit =>
        unit.announce({ type: 'webhook.test', accountId: null, data: { message: 'fair' } }),
      )
    const paths = Array.from({ length: ENDPOINTS - 2 }, (_, nth) => `/${nth}`)
    for (const path of paths) await createEndpoint(service, receiver.url + path)
    receiver.tempers['/hangs'] = () => {}
    const others = {
      well: ['/one', '/two'].map(path => receiver.url + path),
      ill: [`${receiver.url}/hangs`, REFUSING],
    }
    const p99 = { well: [] as number[], ill: [] as number[] }
    // The first pair warms up.
    for (let pair = 0; pair <= PAIRS; pair++) {
      for (const how of ['well', 'ill'] as const) {
        const tookMs = await measure(service, receiver, { paths, others: others[how], announce })
        if (pair > 0) p99[how].push(percentile(tookMs, 0.99))
      }
    }
    const [ill, well] = [median(p99.ill), median(p99.well)]
    report({
      measure: '1 of 50 endpoints hangs, 1 refuses: event to webhook at the others, p99 in ms',
      result: short(ill),
      yardstick: `all 50 answer ${short(well)}`,
      ratio: ill / well,
      target: '≤ 1.2',
    })
  },
}

/** @returns the time from each event to its webhooks, in ms */
async function measure(
  service: BenchService,
  receiver: Receiver,
  { paths, others, announce }: { paths: string[]; others: string[]; announce(): Promise<void> },
): Promise<number[]> {
  const created = await Promise.all(others.map(url => createEndpoint(service, url)))
  const tookMs: number[] = []
  for (const path of paths) {
    receiver.tempers[path] = (response, _, { event }) => {
      tookMs.push(Date.now() - Date.parse(event.createdAt))
      response.writeHead(204).end()
    }
  }
  for (let number = 0; number < EVENTS; number++) {
    await announce()
    await wait(1 / EVENTS_PER_SECOND)
  }
  while (tookMs.length < EVENTS * paths.length) await wait(0.02)
  for (const { endpoint } of created) await service.delete(`/v1/webhooks/${endpoint.id}`)
  return tookMs
}
