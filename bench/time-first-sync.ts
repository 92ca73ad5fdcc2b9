import { type Cpu, meterCpu } from './cpu.ts'
import { type BenchService, startBenchService } from './service.ts'

export interface SyncFigures {
  perSecond: number
  cpu: Cpu
}

/** Connects one account to a new service, and measures until all of its messages are indexed. */
export async function timeFirstSync(
  messages: number,
  env: Record<string, string>,
  connect: (service: BenchService) => Promise<string>,
): Promise<SyncFigures> {
  await using service = await startBenchService({ env })
  const used = meterCpu()
  const begun = performance.now()
  const accountId = await connect(service)
  const seconds = ((await service.untilInitialized(accountId)) - begun) / 1_000
  return { perSecond: messages / seconds, cpu: used(messages) }
}
