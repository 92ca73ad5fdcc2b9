import { changingBy, changingInBatchesBy, type EffectRecord, rehearsing } from '../../effect.ts'
import { isOfAccount, ProviderFailure, restate } from '../../failure.ts'
import type { AskOptions, GraphApi, GraphRequest, PartOutcome } from '../api.ts'

/** The requests of one call that change something, so that its failure can report whether anything was changed. */
export interface Effect extends Pick<EffectRecord, 'run' | 'done'> {
  ask<T>(request: GraphRequest<T>, options?: AskOptions): Promise<{ status: number; value: T }>
  /** Several in turn, each by itself. */
  askAll<T>(requests: ReadonlyArray<GraphRequest<T>>): Promise<Array<PartOutcome<T>>>
  /** Several in turn, each in a request of its own: its answer may have no content, which a batch cannot show. */
  askEach(requests: ReadonlyArray<GraphRequest<unknown>>): Promise<Array<PartOutcome<unknown>>>
}

export function changing<T>(api: GraphApi, work: (effect: Effect) => Promise<T>): Promise<T> {
  return changingBy(record => openEffect(api, record), work)
}

/** Runs such work up to its first change, which is not made. */
export function rehearsingAt(api: GraphApi, work: (effect: Effect) => Promise<unknown>): Promise<void> {
  return rehearsing(record => openEffect(api, record), work)
}

export function changingInBatches<T>(
  api: GraphApi,
  work: (effect: Effect) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  return changingInBatchesBy(record => openEffect(api, record), work)
}

function openEffect(api: GraphApi, { run, runEach, done }: EffectRecord): Effect {
  return {
    run,
    done,
    ask: (request, options) => run(() => api.ask(request, options)),
    askAll: requests => runEach(() => api.askAll(requests)),
    askEach: requests => runEach(() => askEach(api, requests)),
  }
}

async function askEach(
  api: GraphApi,
  requests: ReadonlyArray<GraphRequest<unknown>>,
): Promise<Array<PartOutcome<unknown>>> {
  const outcomes: Array<PartOutcome<unknown>> = []
  let last: ProviderFailure | null = null
  for (const request of requests) {
    // A failure that concerns the account or its quota keeps the others from being carried out as well.
    if (last && (last.kind === 'throttled' || isOfAccount(last))) {
      outcomes.push({ value: null, failure: restate(last, { isBeforeAcceptance: true }) })
      continue
    }
    try {
      outcomes.push({ value: (await api.ask(request)).value, failure: null })
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      last = error
      outcomes.push({ value: null, failure: error })
    }
  }
  return outcomes
}
