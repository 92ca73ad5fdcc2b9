import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { short } from './figures.ts'
import { wait } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import { readMemory } from './process-stats.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const SETTLE_SECONDS = 10

export const memory: Benchmark = {
  name: 'memory',
  about:
    'Memory of the service process (without PostgreSQL) for the sync of one mailbox: its peak, and at rest afterwards.',
  async run(report) {
    await using server = await startDovecot()
    const figures: Array<{ peakMb: number; nowMb: number }> = []
    for (const count of [10_000, 100_000]) {
      const user = await makeFullMailbox(server, count)
      await using service = await startBenchService()
      await service.untilInitialized(await service.connect(server, user))
      await wait(SETTLE_SECONDS)
      const { peakMb, nowMb } = readMemory(service.pid)
      figures.push({ peakMb, nowMb })
      const result = `${short(peakMb)} (${short(nowMb)})`
      report({
        measure: `${short(count)} messages, MB at the peak (at rest)`,
        result,
        yardstick: '',
        ratio: null,
        target: '',
      })
    }
    const [small, large] = figures
    const growth = (large?.peakMb ?? 0) - (small?.peakMb ?? 0)
    report({
      measure: 'growth of the peak, MB',
      result: short(growth),
      yardstick: '',
      ratio: null,
      target: '≤ 64 (16)',
    })
  },
}
