/** Limits how many works run at once. The others wait, first come, first served. */
export interface Semaphore {
  /** Runs the work when it gets a permit. Returns null at once if too many are waiting already. */
  take<T>(work: () => Promise<T>): Promise<T> | null
}

export function openSemaphore({ atOnce, waitingMax }: { atOnce: number; waitingMax: number }): Semaphore {
  const waiting: Array<() => void> = []
  let running = 0

  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (running >= atOnce) await new Promise<void>(resolve => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
  return { take: work => (running >= atOnce && waiting.length >= waitingMax ? null : run(work)) }
}
