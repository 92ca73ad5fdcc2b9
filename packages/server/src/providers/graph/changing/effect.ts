import { ProviderFailure, restate } from '../../failure.ts'
import type { AskOptions, GraphApi, GraphRequest, PartOutcome } from '../api.ts'

/** The requests of one call that change something, so that its failure can report whether anything was changed. */
export interface Effect {
  ask<T>(request: GraphRequest<T>, options?: AskOptions): Promise<{ status: number; value: T }>
  /** Several in turn, each by itself. */
  askAll<T>(requests: ReadonlyArray<GraphRequest<T>>): Promise<Array<PartOutcome<T>>>
  /** Any other way to change something. */
  run<T>(work: () => Promise<T>): Promise<T>
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
    ask: (request, options) => run(() => api.ask(request, options)),
    async askAll(requests) {
      isAsked = true
      const outcomes = await api.askAll(requests)
      isDone ||= outcomes.some(({ failure }) => failure === null || !failure.isBeforeAcceptance)
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
