import { changingBy, changingInBatchesBy, type EffectRecord } from '../../effect.ts'
import type { AskOptions, GmailApi, GmailRequest, PartOutcome } from '../api.ts'

/** The requests of one call that change something, so that its failure can report whether anything was changed. */
export interface Effect extends Pick<EffectRecord, 'run'> {
  ask<T>(request: GmailRequest<T>): Promise<T>
  /** Several at once, each by itself. */
  askAll<T>(requests: ReadonlyArray<GmailRequest<T>>, options?: AskOptions): Promise<Array<PartOutcome<T>>>
}

export function changing<T>(api: GmailApi, work: (effect: Effect) => Promise<T>): Promise<T> {
  return changingBy(record => openEffect(api, record), work)
}

export function changingInBatches<T>(
  api: GmailApi,
  work: (effect: Effect) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  return changingInBatchesBy(record => openEffect(api, record), work)
}

function openEffect(api: GmailApi, { run, runEach }: EffectRecord): Effect {
  return {
    run,
    ask: request => run(() => api.ask(request)),
    askAll: (requests, options) => runEach(() => api.askAll(requests, options)),
  }
}
