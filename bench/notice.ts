import { startChaosProxy } from '../packages/server/test/servers/chaos-proxy.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'
import { meterCpu } from './cpu.ts'
import { percentile, short } from './figures.ts'
import { wait } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark, Report } from './row.ts'
import { type BenchService, startBenchService } from './service.ts'

const DELIVERIES = 50
const SECONDS_MAX = 90

export const notice: Benchmark = {
  name: 'notice',
  about: "From the server's notice of new mail on the wire until the message is in the change feed.",
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, 1000)
    let noticedAt = 0
    await using wire = await startChaosProxy(server, {
      rewrite(line) {
        if (/^\* \d+ EXISTS$/.test(line)) noticedAt = performance.now()
        return line
      },
    })
    await using service = await startBenchService()
    await service.untilInitialized(await service.connect(server, user, { port: wire.port }))
    await using world = await openWorld(server, user)
    await measureNotices(report, service, {
      deliver: raw => world.deliver({ raw }),
      noticedAt: () => noticedAt,
      p50Target: '≤ 10 (7)',
    })
  },
}

export interface NoticeOptions {
  /** Place in which the messages arrive, if there are several. */
  place?: string
  deliver(raw: string): Promise<unknown>
  /** The event that the feed announces for it. */
  awaits?: 'message.created' | 'calendar_event.created'
  /** Time of the last notice, by `performance.now()`. */
  noticedAt(): number
  p50Target: string
}

/** Lets messages arrive one by one, and reports the time from the notice of each until it is in the change feed. */
export async function measureNotices(
  report: Report,
  service: BenchService,
  { place = '', deliver, awaits = 'message.created', noticedAt, p50Target }: NoticeOptions,
): Promise<void> {
  // Gives the engine time to finish its first passes and to wait for mail.
  await wait(5)
  let cursor = await headOf(service)
  const tookMs: number[] = []
  const used = meterCpu()
  for (let number = 0; number < DELIVERIES; number++) {
    // Varies the interval, so that it is not in step with anything that happens every second.
    await wait(0.3 + (number % 10) * 0.077)
    await deliver(`Subject: Now ${number}\r\nMessage-ID: <now.${number}@example.com>\r\n\r\nHello\r\n`)
    cursor = await untilCreated(service, cursor, awaits)
    tookMs.push(performance.now() - noticedAt())
  }
  const cpu = used(DELIVERIES)
  const [p50, p95] = [percentile(tookMs, 0.5), percentile(tookMs, 0.95)]
  const row = { yardstick: '', ratio: null }
  const where = place && `${place}, `
  report({ measure: `${where}p50 in ms`, result: short(p50), ...row, target: p50Target, cpu })
  report({ measure: `${where}p95 in ms`, result: short(p95), ...row, target: '≤ 60' })
}

interface Page {
  items: Array<{ type: string }>
  nextCursor: string
}

async function headOf(service: BenchService) {
  return (await service.get<Page>('/v1/changes?start=now')).body.nextCursor
}

/** Waits for the feed, which answers as soon as something is in it. */
async function untilCreated(service: BenchService, from: string, awaited: string) {
  const deadline = performance.now() + SECONDS_MAX * 1000
  let cursor = from
  while (performance.now() < deadline) {
    const { body } = await service.get<Page>(
      `/v1/changes?cursor=${encodeURIComponent(cursor)}&limit=200&waitSeconds=30`,
    )
    cursor = body.nextCursor
    if (body.items.some(({ type }) => type === awaited)) return cursor
  }
  throw new Error(`no ${awaited} within ${SECONDS_MAX} s`)
}
