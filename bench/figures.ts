export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5)
}

/** Three digits that count. */
export function short(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Runs `call` over and over by so many callers at once, and says how long each took (ms) and how many came a second. */
export async function load(callers: number, seconds: number, call: () => Promise<unknown>) {
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
