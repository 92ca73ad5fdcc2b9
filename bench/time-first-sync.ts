import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median, short } from './figures.ts'
import type { Report } from './row.ts'
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

/**
 * Reports first syncs beside the calls that they make.
 * @param yardsticks messages per second of the calls alone
 */
export function reportFirstSync(
  report: Report,
  messages: number,
  { syncs, yardsticks }: { syncs: readonly SyncFigures[]; yardsticks: readonly number[] },
): void {
  const [ours, theirs] = [median(syncs.map(run => run.perSecond)), median(yardsticks)]
  report({
    measure: `${short(messages)} messages, messages per second`,
    result: short(ours),
    yardstick: `the calls alone ${short(theirs)}`,
    ratio: ours / theirs,
    target: '≥ 0.40 (0.8)',
    cpu: medianCpu(syncs.map(run => run.cpu)),
  })
}
