import { openFairSemaphore } from '../fair-semaphore.ts'
import { MODULE_SUFFIX } from '../module-suffix.ts'
import { toInstant } from '../zones/zones.ts'
import { ThreadLost, WorkThread } from '../work-thread.ts'
import type { Expansion } from './expand.ts'
import type { SeriesMembers } from './series.ts'

const HEAP_MB_MAX = 128
/** The bounds of a series keep its expansion far below. It takes that long only if the code is wrong. */
const WORK_MS_MAX = 30_000

/** Members as one text, which is copied from the thread faster than so many objects, and takes less memory. */
export interface ExpanderAnswer {
  walls: string
  /** Ends by the numbers of their members; others have none. */
  ends: Array<[number, string]>
  isTruncated: boolean
  goesOn: boolean
}

/** Expands series beside the event loop, in a thread. */
export interface Expander extends AsyncDisposable {
  /**
   * @param party who asks; parties take turns at the thread
   * @returns the members, which are only taken out of their text when they are asked for
   * @throws RangeError if a wall clock or the zone is none
   */
  expand(party: string, expansion: Expansion): Promise<() => SeriesMembers>
  /** The series that the thread was asked for. */
  readonly slowCount: number
}

export function openExpander(): Expander {
  const permits = openFairSemaphore({ atOnce: 1 })
  let thread: WorkThread<Expansion, ExpanderAnswer> | null = null
  let isClosed = false
  let slowCount = 0

  async function ask(expansion: Expansion): Promise<() => SeriesMembers> {
    if (isClosed) throw new ThreadLost('The thread was closed')
    slowCount++
    if (thread === null || thread.hasEnded)
      thread = new WorkThread({
        script: new URL(`expand-worker${MODULE_SUFFIX}`, import.meta.url),
        heapMbMax: HEAP_MB_MAX,
      })
    const answer = await thread.ask(expansion, { msLeft: WORK_MS_MAX })
    return () => membersOf(answer)
  }

  return {
    async expand(party, expansion) {
      // In the thread, an error would end it.
      toInstant(expansion.start.wall, expansion.start.zone ?? 'UTC')
      // Any number may wait.
      return permits.take(party, () => ask(expansion))!
    },
    get slowCount() {
      return slowCount
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await thread?.[Symbol.asyncDispose]()
    },
  }
}

function membersOf({ walls, ends, ...rest }: ExpanderAnswer): SeriesMembers {
  const endOf = new Map(ends)
  const all = walls === '' ? [] : walls.split(',')
  return { ...rest, members: all.map((wall, nth) => ({ wall, end: endOf.get(nth) ?? null })) }
}
