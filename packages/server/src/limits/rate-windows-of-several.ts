import type { LiveProcesses } from '../processes/live-processes.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { MemoryWindows } from './memory-windows.ts'
import type { TableWindows } from './table-windows.ts'
import type { Windows } from './windows.ts'

const MINUTE_MILLISECONDS = 60_000

export interface SeveralOptions {
  memory: MemoryWindows
  table: TableWindows
  live: Pick<LiveProcesses, 'countOthers' | 'onChange'>
  clock: Clock
  log: Logger
}

/**
 * Counts in memory while no other process answers requests, otherwise in the table. When the first other one comes, the
 * counts of the current minute move to the table; when the last one is gone, the table counts for a whole minute more,
 * so that no minute is divided. Requests that the table is counting as that minute ends may belong to the next one, so they count
 * in both.
 */
export function createRateWindowsOfSeveral({ memory, table, live, clock, log }: SeveralOptions): Windows {
  let sharedUntil = 0
  let moving: Promise<void> | null = null
  let isReported = false
  /** Counts that the table has not answered yet. */
  const asked = new Set<Promise<unknown>>()

  function report(): void {
    if (isReported || live.countOthers('api') === 0) return
    log.warn(SEVERAL)
    isReported = true
  }
  report()
  live.onChange(report)

  function isShared(): boolean {
    if (live.countOthers('api') > 0) {
      report()
      sharedUntil = (Math.floor(clock.now() / MINUTE_MILLISECONDS) + 2) * MINUTE_MILLISECONDS
    }
    return clock.now() < sharedUntil
  }

  async function countShared(windows: Parameters<Windows['count']>[0]) {
    try {
      await (moving ??= table.add(memory.take()))
      const count = await table.count(windows)
      if (count?.isAccepted && clock.now() >= sharedUntil) memory.count(windows)
      return count
    } catch (error) {
      moving = null
      log.warn({ error }, 'A request was not counted: the table of rate windows cannot be used')
      return null
    }
  }

  return {
    count(windows) {
      if (isShared()) {
        const counting = countShared(windows).finally(() => asked.delete(counting))
        asked.add(counting)
        return counting
      }
      moving = null
      return asked.size === 0 ? memory.count(windows) : Promise.all(asked).then(() => memory.count(windows))
    },
    spentSeconds: window => (isShared() ? table : memory).spentSeconds(window),
  }
}

const SEVERAL =
  'Several processes answer requests, and REDIS_URL is not set: requests of a minute are counted together, but requests ' +
  'in progress, wrong credentials and what is limited by address are counted by each process for itself'
