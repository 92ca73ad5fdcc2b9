export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5)
}

/** Formats a number with three significant digits. */
export function short(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Runs `call` repeatedly with this many callers, and returns the median time (ms) and the calls per second. */
export async function load(
  callers: number,
  seconds: number,
  call: () => Promise<unknown>,
): Promise<LoadFigures> {
  const tookMs: number[] = []
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
  return { p50Ms: median(tookMs), perSecond: (tookMs.length * 1000) / (performance.now() - start) }
}

export interface LoadFigures {
  p50Ms: number
  perSecond: number
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
  const pick = (name: Name, figure: keyof LoadFigures) =>
    median((runs.get(name) ?? []).slice(1).map(each => each[figure]))
  const figures = names.map(name => [
    name,
    { p50Ms: pick(name, 'p50Ms'), perSecond: pick(name, 'perSecond') },
  ])
  return Object.fromEntries(figures) as Record<Name, LoadFigures>
}
