import { MODULE_SUFFIX } from '../module-suffix.ts'
import { toInstant } from '../zones/zones.ts'
import { WorkThread } from '../work-thread.ts'
import type { Expansion } from './expand.ts'
import { expandQuickly, type SeriesMembers } from './series.ts'

const HEAP_MB_MAX = 128
/** The bounds of a series keep its expansion far below. It takes that long only if the code is wrong. */
const WORK_MS_MAX = 30_000

/** Members as one text, which is copied from the thread faster than so many objects. */
export interface ExpanderAnswer {
  walls: string
  /** Ends by the numbers of their members; others have none. */
  ends: Array<[number, string]>
  isTruncated: boolean
  goesOn: boolean
}

/** Expands series without keeping the event loop: what takes longer is done by a thread. */
export interface Expander extends AsyncDisposable {
  /** @throws RangeError if a wall clock or the zone is none */
  expand(expansion: Expansion): Promise<SeriesMembers>
  /** The series that the thread has expanded. */
  readonly slowCount: number
}

export function openExpander(): Expander {
  let thread: WorkThread<Expansion, ExpanderAnswer> | null = null
  let slowCount = 0

  async function ask(expansion: Expansion): Promise<SeriesMembers> {
    slowCount++
    if (thread === null || thread.hasEnded)
      thread = new WorkThread({
        script: new URL(`expand-worker${MODULE_SUFFIX}`, import.meta.url),
        heapMbMax: HEAP_MB_MAX,
      })
    const { walls, ends, ...rest } = await thread.ask(expansion, { msLeft: WORK_MS_MAX })
    const endOf = new Map(ends)
    const all = walls === '' ? [] : walls.split(',')
    return { ...rest, members: all.map((wall, nth) => ({ wall, end: endOf.get(nth) ?? null })) }
  }

  return {
    async expand(expansion) {
      // In the thread, an error would end it.
      toInstant(expansion.start.wall, expansion.start.zone ?? 'UTC')
      return expandQuickly(expansion) ?? (await ask(expansion))
    },
    get slowCount() {
      return slowCount
    },
    async [Symbol.asyncDispose]() {
      await thread?.[Symbol.asyncDispose]()
    },
  }
}
