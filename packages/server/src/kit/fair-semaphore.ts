/** Limits how many works run at once, for several parties whose works take turns. */
export interface FairSemaphore {
  /** Runs the work when it gets a permit. Returns null at once if too many are waiting, of this party or of all. */
  take<T>(party: string, work: () => Promise<T>): Promise<T> | null
}

export function openFairSemaphore(limits: {
  atOnce: number
  waitingMax: number
  waitingOfOneMax: number
}): FairSemaphore {
  /** By party; the party that is next stands first. */
  const waiting = new Map<string, Array<() => void>>()
  let waitingCount = 0
  let running = 0

  async function run<T>(party: string, work: () => Promise<T>): Promise<T> {
    if (running < limits.atOnce) running++
    else {
      waitingCount++
      await new Promise<void>(resolve => {
        const line = waiting.get(party)
        if (line) line.push(resolve)
        else waiting.set(party, [resolve])
      })
    }
    try {
      return await work()
    } finally {
      passOn()
    }
  }

  function passOn(): void {
    const [first] = waiting
    if (!first) {
      running--
      return
    }
    const [party, line] = first
    waiting.delete(party)
    const next = line.shift()
    if (line.length > 0) waiting.set(party, line)
    waitingCount--
    next?.()
  }

  return {
    take(party, work) {
      const isFull =
        waitingCount >= limits.waitingMax || (waiting.get(party)?.length ?? 0) >= limits.waitingOfOneMax
      return running >= limits.atOnce && isFull ? null : run(party, work)
    },
  }
}
