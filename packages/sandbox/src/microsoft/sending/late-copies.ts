import type { Clock } from '../../world/clock.ts'

/** Work that Exchange does some time after it has taken a message. */
export interface LateCopies {
  /** Does the work after this many seconds of the sandbox's clock, and at once if there are none. */
  after(seconds: number, work: () => void): void
  close(): void
}

interface Waiting {
  readonly dueAt: number
  readonly work: () => void
}

const TIMER_MS_MAX = 60_000

export function openLateCopies(clock: Clock): LateCopies {
  let waiting: Waiting[] = []
  let timer: NodeJS.Timeout | null = null
  const wait = () => {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting.length === 0) return
    const next = Math.min(...waiting.map(({ dueAt }) => dueAt)) - clock.now()
    timer = setTimeout(doDue, Math.min(Math.max(next, 0), TIMER_MS_MAX))
    timer.unref()
  }
  const doDue = () => {
    const now = clock.now()
    const due = waiting.filter(({ dueAt }) => dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt)
    waiting = waiting.filter(({ dueAt }) => dueAt > now)
    for (const { work } of due) work()
    wait()
  }
  clock.onTurn(doDue)
  return {
    after(seconds, work) {
      if (seconds === 0) return work()
      waiting.push({ dueAt: clock.now() + seconds * 1000, work })
      wait()
    },
    close() {
      waiting = []
      wait()
    },
  }
}
