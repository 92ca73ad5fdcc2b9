import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median } from './figures.ts'

/** Runs `call` repeatedly with this many callers. */
export async function load(
  callers: number,
  seconds: number,
  call: () => Promise<unknown>,
): Promise<LoadFigures> {
  const tookMs: number[] = []
  const used = meterCpu()
  const start = performance.now()
  const end = start + seconds * 1000
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) {
        const before = performance.now()
        await call()
        tookMs.push(performance.now() - before)
      }
    }),
  )
  const perSecond = (tookMs.length * 1000) / (performance.now() - start)
  return { p50Ms: median(tookMs), perSecond, cpu: used(tookMs.length) }
}

export interface LoadFigures {
  /** The median time of a call. */
  p50Ms: number
  perSecond: number
  cpu: Cpu
}

const LOAD_SECONDS = 5
const LOAD_RUNS = 3

/** Runs the loads in turn, several times, and returns the median of each. The first round warms up. */
export async function compareLoad<Name extends string>(
  callers: number,
  calls: Record<Name, () => Promise<unknown>>,
): Promise<Record<Name, LoadFigures>> {
  const names = Object.keys(calls) as Name[]
  const runs = new Map(names.map(name => [name, [] as LoadFigures[]]))
  for (let run = 0; run <= LOAD_RUNS; run++)
    for (const name of names) runs.get(name)?.push(await load(callers, LOAD_SECONDS, calls[name]))
  const figures = names.map(name => {
    const counted = (runs.get(name) ?? []).slice(1)
    const p50Ms = median(counted.map(run => run.p50Ms))
    const perSecond = median(counted.map(run => run.perSecond))
    return [name, { p50Ms, perSecond, cpu: medianCpu(counted.map(run => run.cpu)) }]
  })
  return Object.fromEntries(figures) as Record<Name, LoadFigures>
}
