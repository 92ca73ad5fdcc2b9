import { setImmediate as nextTurn } from 'node:timers/promises'
import { openFairSemaphore } from './fair-semaphore.ts'

/** Work in steps, each of which takes much less than a slice. */
export type Steps<T> = Generator<void, T, void>

/** Does work of a party on the event loop, a slice at a time. */
export type InSlices = <T>(steps: Steps<T>) => Promise<T>

/** How long the event loop is kept at once. One step more may follow. */
const SLICE_MS_MAX = 4

/**
 * Does long work on the event loop in slices, one at a time and for parties in turn, so that whatever else the process
 * does waits only for a slice.
 * @param now monotonic time. Default: that of the process
 */
export function openSlicedWork(now: () => number = () => performance.now()): (party: string) => InSlices {
  const permits = openFairSemaphore({ atOnce: 1 })

  async function doSlice<T>(steps: Steps<T>): Promise<IteratorResult<void, T>> {
    const until = now() + SLICE_MS_MAX
    let step = steps.next()
    while (!step.done && now() < until) step = steps.next()
    // The permit is held until everything else has had the event loop.
    await nextTurn()
    return step
  }

  return party => async steps => {
    for (;;) {
      // Any number may wait, so none is refused.
      const step = (await permits.take(party, () => doSlice(steps)))!
      if (step.done) return step.value
    }
  }
}

/** Does all steps at once, where nobody waits for the thread. */
export function doAtOnce<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}
