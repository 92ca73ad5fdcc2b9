import type { Logger } from '../../../kit/log.ts'
import { type Expander, openExpander } from '../../../kit/recurrence/expander.ts'
import { openSlicedWork } from '../../../kit/sliced-work.ts'
import type { ItemState } from './item.ts'
import { expansionOf, type ItemSpans, type SpansOptions, spanSteps } from './spans.ts'

/** Finds the spans of items without keeping the event loop. */
export interface SpanPlanner extends AsyncDisposable {
  /** @param accountId whose item it is; accounts take turns */
  plan(accountId: string, id: string, state: ItemState, options: SpansOptions): Promise<ItemSpans>
  /** Reports series of which only a part of the members is expanded. */
  reportTruncated(accountId: string, ids: readonly string[]): void
}

/** @param expander Default: one of its own */
export function openSpanPlanner(log: Logger, expander: Expander = openExpander()): SpanPlanner {
  const slicesOf = openSlicedWork()
  return {
    async plan(accountId, id, state, options) {
      const expansion = expansionOf(state, options)
      const expanded = expansion && (await expander.expand(expansion))
      return slicesOf(accountId)(spanSteps(id, state, expanded, options))
    },
    reportTruncated(accountId, ids) {
      if (ids.length === 0) return
      const fields = { accountId, count: ids.length, names: ids }
      log.warn(fields, 'Series have more members than are expanded; the others are not listed')
    },
    [Symbol.asyncDispose]: () => expander[Symbol.asyncDispose](),
  }
}
