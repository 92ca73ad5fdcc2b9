import { ProviderFailure } from '../failure.ts'
import type { AskOptions, GraphApi, Urgency } from './api.ts'
import type { MailboxQuota } from './governor.ts'

/**
 * Outcome of a call. `answered`: with success. `throttled`: the provider demands a slower pace. `held_back`: not sent,
 * since the quota or the slots of the mailbox were used up. `refused`: by any other answer. `unavailable`: without an
 * answer.
 */
export type CallOutcome = 'answered' | 'throttled' | 'held_back' | 'refused' | 'unavailable'

/** Counts the calls to Microsoft Graph of this process. */
export interface GraphObserver {
  ended(outcome: CallOutcome, urgency: Urgency): void
  /** Called when a call has waited for a slot, or is to be repeated later since the quota is used up. */
  waited(cause: 'quota' | 'slot', seconds: number): void
  /** Called when a slot is taken (1) and given back (-1). */
  slot(change: 1 | -1): void
  /** Called for each event that is read whose zone has no known name. */
  customZone?(): void
}

export function observedApi(api: GraphApi, observer: GraphObserver): GraphApi {
  async function observe<T>({ urgency = 'prompt' }: AskOptions = {}, ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask()
      observer.ended('answered', urgency)
      return answer
    } catch (error) {
      if (error instanceof ProviderFailure) observer.ended(outcomeOf(error), urgency)
      throw error
    }
  }
  return {
    cloud: api.cloud,
    now: () => api.now(),
    secondsFor: calls => api.secondsFor(calls),
    requireOwn: link => api.requireOwn(link),
    ask: (request, options) => observe(options, () => api.ask(request, options)),
    async askAll(requests, options) {
      const { urgency = 'prompt' } = options ?? {}
      try {
        const outcomes = await api.askAll(requests, options)
        for (const { failure } of outcomes) observer.ended(failure ? outcomeOf(failure) : 'answered', urgency)
        return outcomes
      } catch (error) {
        if (error instanceof ProviderFailure)
          for (const _ of requests) observer.ended(outcomeOf(error), urgency)
        throw error
      }
    },
    follow: (link, schema, options) => observe(options, () => api.follow(link, schema, options)),
    stream: (path, options) => observe(options, () => api.stream(path, options)),
    putRange: (url, range, options) => observe(options, () => api.putRange(url, range, options)),
    findNextRange: (url, options) => observe(options, () => api.findNextRange(url, options)),
    askRoot: (request, options) => observe(options, () => api.askRoot(request, options)),
  }
}

export function observedQuota(quota: MailboxQuota, observer: GraphObserver): MailboxQuota {
  return {
    ...quota,
    async take(calls, urgency) {
      try {
        await quota.take(calls, urgency)
      } catch (error) {
        if (error instanceof ProviderFailure) observer.waited('quota', error.retryAfterSeconds ?? 0)
        throw error
      }
    },
    async enter(urgency, signal) {
      const begunAt = performance.now()
      try {
        const slot = await quota.enter(urgency, signal)
        observer.slot(1)
        let isHeld = true
        return {
          [Symbol.dispose]() {
            if (isHeld) observer.slot(-1)
            isHeld = false
            slot[Symbol.dispose]()
          },
        }
      } finally {
        observer.waited('slot', (performance.now() - begunAt) / 1_000)
      }
    },
  }
}

function outcomeOf({ kind, isBusy }: ProviderFailure): CallOutcome {
  if (isBusy) return 'held_back'
  if (kind === 'throttled' || kind === 'unavailable') return kind
  return 'refused'
}
