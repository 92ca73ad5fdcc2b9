/** Limits how many run at once. The rest waits in the order of arrival. */
export interface Turns {
  /** Returns null at once if too many are waiting already. */
  take<T>(work: () => Promise<T>): Promise<T> | null
}

export function openTurns({ atOnce, waitingMax }: { atOnce: number; waitingMax: number }): Turns {
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
