import { ProviderFailure } from '../../providers/failure.ts'
import { type ComparedSource, compareListing, type ListingCounts } from './compare-listing.ts'
import type { Failures } from './failures.ts'
import { type PassOptions, SLICE_MS } from './follow-changed.ts'
import type { LookSession } from './session.ts'

/** Time that a provider may take to list a source. */
const LISTING_SECONDS_MAX = 600
/** A source that could not be listed is compared after this time. */
const POSTPONED_SECONDS = 3_600

/** The comparisons of the sources of an account, as their wing stores them. */
export interface ComparisonStore {
  /** Ids of sources that are to be compared now. Plans the first comparison of each source. */
  findDue(): Promise<ReadonlySet<string>>
  /** Puts off the comparison of a source. The earlier one counts as long as it would have. */
  postpone(sourceId: string, seconds: number): Promise<void>
  /**
   * Records what a comparison counted. If the source differs, the follower compares all of it next time, and brings what it
   * lacks.
   * @returns when it is compared next
   */
  record(sourceId: string, counts: ListingCounts, differs: boolean): Promise<{ dueInSeconds: number }>
}

export interface VerifyingDue<Listed> {
  sourceOf(listed: Listed): { id: string }
  failures: Failures
  options: Pick<PassOptions, 'acquireBulkPermit' | 'onDiffering'>
  store: ComparisonStore
  compared(listed: Listed): ComparedSource
}

/**
 * Compares sources that are due with their listings at the provider, by keys and versions.
 * @returns whether another pass may heal a difference that was found
 */
export async function verifyDue<Listed>(
  session: Pick<LookSession<unknown>, 'allow'>,
  listed: readonly Listed[],
  verifying: VerifyingDue<Listed>,
): Promise<boolean> {
  const { sourceOf, failures, options, store } = verifying
  const dueIds = await store.findDue()
  const due = listed.filter(each => dueIds.has(sourceOf(each).id) && !failures.has(sourceOf(each).id))
  if (due.length === 0) return false
  using permit = await options.acquireBulkPermit()
  let mayHeal = false
  const until = performance.now() + SLICE_MS
  for (const each of permit ? due : []) {
    session.allow(LISTING_SECONDS_MAX)
    await failures.after(sourceOf(each).id, async () => {
      mayHeal = (await verify(each, verifying)) || mayHeal
    })
    if (performance.now() > until) break
  }
  return mayHeal
}

async function verify<Listed>(
  listed: Listed,
  { sourceOf, options, store, compared }: VerifyingDue<Listed>,
): Promise<boolean> {
  const { id } = sourceOf(listed)
  const counts = await compareListing(compared(listed)).catch(async (error: unknown) => {
    // The whole listing is not to be read again at each look.
    if (error instanceof ProviderFailure) await store.postpone(id, POSTPONED_SECONDS)
    throw error
  })
  const open = counts.missing + counts.extra + counts.changed
  const { dueInSeconds } = await store.record(id, counts, open > 0)
  if (open > 0) options.onDiffering(id, open)
  return open > 0 && dueInSeconds === 0
}
