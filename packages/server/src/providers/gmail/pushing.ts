import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { GrantedWatch } from '../granted-watch.ts'
import { pushTrouble } from '../push-trouble.ts'
import type { GmailApi } from './api.ts'
import { UNITS } from './units.ts'

/** The means by which a mailbox is watched. */
export interface PushPlan {
  /** The Pub/Sub topic of the account's app; null if it has none (any more). */
  topic: string | null
  /** The watch that was begun before; null if there is none. */
  watch: GrantedWatch | null
  /** Keeps a watch that was granted, or forgets the one that was ended. */
  record(watch: GrantedWatch | null): Promise<void>
}

/** Keeps Gmail notifying the topic of a mailbox's changes. */
export interface Pushing {
  readonly isPushed: boolean
  /** The reason, for people, why Gmail does not notify; null if it does, or was not asked to. */
  readonly problem: string | null
  /**
   * Begins or renews the watch if that is due. Throws only if the account cannot be reached at all; a refused watch is
   * requested again later.
   */
  keep(signal: AbortSignal): Promise<void>
}

/** A watch ends after 7 days, and is to be renewed once a day (developers.google.com/workspace/gmail/api/guides/push). */
const RENEW_MS = 24 * 3_600_000
const watchSchema = z.object({ expiration: z.string().regex(/^\d{10,16}$/) })

/** @param plan null: the mailbox is only polled */
export function openPushing(api: Pick<GmailApi, 'ask' | 'now'>, plan: PushPlan | null): Pushing {
  let watch = plan?.watch ?? null
  const trouble = pushTrouble('Gmail refuses to send notices', () => api.now())
  const isCurrent = () =>
    watch !== null && watch.topic === plan?.topic && watch.expiresAt.getTime() > api.now()

  async function stop(signal: AbortSignal): Promise<void> {
    await api.ask({ method: 'POST', path: 'stop', units: UNITS.stop, schema: z.unknown() }, { signal })
    watch = null
    await plan?.record(null)
  }

  async function begin(topic: string, signal: AbortSignal): Promise<void> {
    const { expiration } = await api.ask(
      { method: 'POST', path: 'watch', json: { topicName: topic }, units: UNITS.watch, schema: watchSchema },
      { signal },
    )
    const expiresAt = Math.min(Number(expiration), api.now() + 30 * RENEW_MS)
    const renewAt = Math.min(api.now() + RENEW_MS, (api.now() + expiresAt) / 2)
    watch = { topic, expiresAt: new Date(expiresAt), renewAt: new Date(renewAt) }
    trouble.end()
    await plan?.record(watch)
  }

  /** Gmail takes no second topic beside one of before, which this service may have forgotten. */
  async function beginAlone(topic: string, signal: AbortSignal): Promise<void> {
    try {
      await begin(topic, signal)
    } catch (error) {
      if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
      await stop(signal)
      await begin(topic, signal)
    }
  }

  return {
    get isPushed() {
      return isCurrent()
    },
    get problem() {
      return isCurrent() ? null : trouble.problem
    },
    async keep(signal) {
      if (!plan || signal.aborted || trouble.isPaused) return
      const { topic } = plan
      if (topic === null && watch === null) return
      // None is renewed later than after this time, unless the clock was set back.
      const renewIn = (watch?.renewAt.getTime() ?? 0) - api.now()
      if (isCurrent() && renewIn > 0 && renewIn <= RENEW_MS) return
      try {
        await (topic === null ? stop(signal) : beginAlone(topic, signal))
      } catch (error) {
        if (!signal.aborted) trouble.note(error)
      }
    },
  }
}
