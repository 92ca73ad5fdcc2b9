import { createHash } from 'node:crypto'
import type { Logger } from '../../../kit/log.ts'
import type { Expansion } from '../../../kit/recurrence/expand.ts'
import { type Expander, openExpander } from '../../../kit/recurrence/expander.ts'
import { expandQuickly, type SeriesMembers } from '../../../kit/recurrence/series.ts'
import { type InSlices, openSlicedWork, type Steps } from '../../../kit/sliced-work.ts'
import type { ItemState } from './item.ts'
import { expansionOf, type ItemSpans, type SpansOptions, spanSteps } from './spans.ts'

/** Finds the spans of items without keeping the event loop, nor a transaction. */
export interface SpanPlanner extends AsyncDisposable {
  /**
   * Runs a transaction that finds the spans of items. No series that takes long is expanded in it, since the database ends
   * transactions that wait: the transaction fails, such series are expanded, and it is run again.
   * @param accountId whose items they are; accounts take turns
   */
  run<T>(accountId: string, transact: (planner: ItemPlanner) => Promise<T>): Promise<T>
  /** Expands a series outside of a transaction. @throws RangeError if a wall clock or the zone is none */
  expand(accountId: string, expansion: Expansion): Promise<SeriesMembers>
}

/** Finds the spans of items within one transaction. */
export interface ItemPlanner {
  /**
   * Expands the series whose spans will be wanted, so that all of them that take long are found at once. Null: no series.
   * @throws SlowSeries
   */
  expand(expansions: ReadonlyArray<Expansion | null>): Promise<void>
  /** @throws SlowSeries */
  plan(id: string, state: ItemState, options: SpansOptions): Promise<ItemSpans>
  /** Does other work on these items in slices. */
  inSlices: InSlices
  /** Reports series of which only a part of the members is expanded. */
  reportTruncated(ids: readonly string[]): void
}

/** A transaction met series that take long to expand. */
class SlowSeries extends Error {
  override name = 'SlowSeries'
  readonly expansions: readonly Expansion[]

  constructor(expansions: readonly Expansion[]) {
    super('The transaction is run again after series were expanded')
    this.expansions = expansions
  }
}

/** @param expander Default: one of its own */
export function openSpanPlanner(log: Logger, expander: Expander = openExpander()): SpanPlanner {
  const slicesOf = openSlicedWork()

  /** @param expanded what is expanded so far, by `nameOf` */
  function itemPlanner(accountId: string, expanded: Map<string, () => SeriesMembers>): ItemPlanner {
    const expandAll = (expansions: ReadonlyArray<Expansion | null>) =>
      slicesOf(accountId)(quickSteps(expansions, expanded))
    return {
      expand: expandAll,
      inSlices: slicesOf(accountId),
      async plan(id, state, options) {
        const expansion = expansionOf(state, options)
        await expandAll([expansion])
        const members = expansion && expanded.get(nameOf(expansion))?.()
        return slicesOf(accountId)(spanSteps(id, state, members ?? null, options))
      },
      reportTruncated(ids) {
        if (ids.length === 0) return
        const fields = { accountId, count: ids.length, names: ids }
        log.warn(fields, 'Series have more members than are expanded; the others are not listed')
      },
    }
  }

  return {
    async run(accountId, transact) {
      const expanded = new Map<string, () => SeriesMembers>()
      for (;;) {
        try {
          return await transact(itemPlanner(accountId, expanded))
        } catch (error) {
          if (!(error instanceof SlowSeries)) throw error
          for (const expansion of error.expansions)
            expanded.set(nameOf(expansion), await expander.expand(accountId, expansion))
        }
      }
    },
    expand: async (accountId, expansion) =>
      expandQuickly(expansion) ?? (await expander.expand(accountId, expansion))(),
    [Symbol.asyncDispose]: () => expander[Symbol.asyncDispose](),
  }
}

/** Expands series that are not expanded yet. @throws SlowSeries with those that take long */
function* quickSteps(
  expansions: ReadonlyArray<Expansion | null>,
  expanded: Map<string, () => SeriesMembers>,
): Steps<void> {
  const slow = new Map<string, Expansion>()
  for (const expansion of expansions) {
    if (expansion === null) continue
    yield
    const name = nameOf(expansion)
    if (expanded.has(name) || slow.has(name)) continue
    const members = expandQuickly(expansion)
    if (members) expanded.set(name, () => members)
    else slow.set(name, expansion)
  }
  if (slow.size > 0) throw new SlowSeries([...slow.values()])
}

/** The same for the same expansion in every run of a transaction. */
const nameOf = (expansion: Expansion) =>
  createHash('sha256').update(JSON.stringify(expansion)).digest('base64')
