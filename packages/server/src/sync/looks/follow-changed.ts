import type { BulkPermit } from '../bulk-permits.ts'
import type { Failures } from './failures.ts'

/** Time for which an account reads whole sources before it lets others have their turn. */
export const SLICE_MS = 30_000

/** A source as it is followed, such as a folder of contacts or a calendar. */
export interface FollowedSource {
  id: string
  /** Whether it was read to its end once. */
  isComplete: boolean
}

export interface ReadingOptions {
  /** Takes the right to read much; null if it did not come in time. */
  acquireBulkPermit(): Promise<BulkPermit | null>
  /** Called when items of a source were read that the index had not read to its end yet. */
  onRead(items: number, remaining: number | null): Promise<void>
}

export interface PassOptions extends ReadingOptions {
  /** Called with the number of items in which a source differs from its provider. */
  onDiffering(sourceId: string, count: number): void
}

/** How a source is read. */
export interface Reading extends Pick<ReadingOptions, 'onRead'> {
  mustPause(): boolean
}

export const neverPause: Reading = { mustPause: () => false, onRead: async () => {} }

export interface FollowingChanged<Listed> {
  sourceOf(listed: Listed): FollowedSource
  failures: Failures
  options: ReadingOptions
  /** Follows a source from its cursor. Returns whether it is caught up. */
  follow(listed: Listed, reading: Reading): Promise<boolean>
}

/**
 * Follows sources that changed. Sources that were never read to their end are read after the others and with a permit,
 * since they may be large.
 * @returns `more` if sources are still to be read, `quiet` if nothing had happened
 */
export async function followChanged<Listed>(
  due: readonly Listed[],
  { sourceOf, failures, options, follow }: FollowingChanged<Listed>,
): Promise<'more' | 'news' | 'quiet'> {
  const known = due.filter(each => sourceOf(each).isComplete)
  const first = due.filter(each => !sourceOf(each).isComplete)
  for (const each of known) await failures.after(sourceOf(each).id, () => follow(each, neverPause))
  let isThrough = true
  if (first.length > 0) {
    using permit = await options.acquireBulkPermit()
    const until = performance.now() + SLICE_MS
    const mustPause = () => performance.now() > until
    isThrough = permit !== null
    for (const each of permit ? first : []) {
      await failures.after(sourceOf(each).id, async () => {
        isThrough = (await follow(each, { mustPause, onRead: options.onRead })) && isThrough
      })
      if (mustPause()) break
    }
    isThrough &&= first.map(sourceOf).every(({ id, isComplete }) => isComplete || failures.has(id))
  }
  if (!isThrough) return 'more'
  return due.length === 0 ? 'quiet' : 'news'
}
