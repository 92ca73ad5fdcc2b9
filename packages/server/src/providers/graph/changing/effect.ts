import { isOfAccount, ProviderFailure, restate } from '../../failure.ts'
import type { AskOptions, GraphApi, GraphRequest, PartOutcome } from '../api.ts'

/** The requests of one call that change something, so that its failure can report whether anything was changed. */
export interface Effect {
  ask<T>(request: GraphRequest<T>, options?: AskOptions): Promise<{ status: number; value: T }>
  /** Several in turn, each by itself. */
  askAll<T>(requests: ReadonlyArray<GraphRequest<T>>): Promise<Array<PartOutcome<T>>>
  /** Several in turn, each in a request of its own: its answer may have no content, which a batch cannot show. */
  askEach(requests: ReadonlyArray<GraphRequest<unknown>>): Promise<Array<PartOutcome<unknown>>>
  /** Any other way to change something. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Records that something was changed by work that may still fail. */
  done(): void
}

/** Runs work that changes something. Its failures report whether nothing was changed at all. */
export async function changing<T>(api: GraphApi, work: (effect: Effect) => Promise<T>): Promise<T> {
  const { effect, describe } = openEffect(api)
  try {
    return await work(effect)
  } catch (error) {
    throw describe(error)
  }
}

/** The same for work in batches. */
export async function* changingInBatches<T>(
  api: GraphApi,
  work: (effect: Effect) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  const { effect, describe } = openEffect(api)
  try {
    yield* work(effect)
  } catch (error) {
    throw describe(error)
  }
}

function openEffect(api: GraphApi) {
  let isDone = false
  let isAsked = false
  const run: Effect['run'] = async work => {
    isAsked = true
    const result = await work()
    isDone = true
    return result
  }
  const effect: Effect = {
    run,
    done: () => void (isDone = true),
    ask: (request, options) => run(() => api.ask(request, options)),
    async askAll(requests) {
      isAsked = true
      const outcomes = await api.askAll(requests)
      isDone ||= outcomes.some(({ failure }) => failure === null || !failure.isBeforeAcceptance)
      return outcomes
    },
    async askEach(requests) {
      const outcomes: Array<PartOutcome<unknown>> = []
      let last: ProviderFailure | null = null
      for (const request of requests) {
        // A failure that concerns the account or its quota keeps the others from being carried out as well.
        if (last && (last.kind === 'throttled' || isOfAccount(last))) {
          outcomes.push({ value: null, failure: restate(last, { isBeforeAcceptance: true }) })
          continue
        }
        try {
          outcomes.push({ value: (await run(() => api.ask(request))).value, failure: null })
        } catch (error) {
          if (!(error instanceof ProviderFailure)) throw error
          isDone ||= !error.isBeforeAcceptance
          last = error
          outcomes.push({ value: null, failure: error })
        }
      }
      return outcomes
    },
  }
  return {
    effect,
    describe(error: unknown) {
      if (!(error instanceof ProviderFailure)) return error
      const isBeforeAcceptance = !isDone && (!isAsked || error.isBeforeAcceptance)
      return restate(error, { isBeforeAcceptance })
    },
  }
}
