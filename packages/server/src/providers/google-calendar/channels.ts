import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import { isRefusal, pushTrouble } from '../push-trouble.ts'
import { type CalendarApi, eventsPath } from './calendar-api.ts'

/** The life that is asked for. Google grants a week of itself. */
const LIFE_MS = 7 * 24 * 3_600_000
/** A calendar for which Google refuses a channel, such as one of holidays, is left to polling for a day. */
const REFUSED_MS = 24 * 3_600_000
/** Channels that are opened at one look: the calls of all users count against the quota of the project. */
const OPENED_MAX = 10

/** A channel by which Google notifies of the changes of a calendar. */
export interface KeptChannel {
  id: string
  calendarKey: string
  resourceId: string
  expiresAt: Date
  /** The time from which it is replaced. */
  renewAt: Date
}

export interface StoredChannel extends KeptChannel {
  /** False for a channel whose notices go to a former address of the service, or that was opened under a former grant. */
  leadsHere: boolean
}

/** The means by which the channels of an account are kept. */
export interface ChannelPlan {
  /** To which notices go. */
  address: string
  /** Makes the id of a new channel, and the token that proves its notices. */
  newChannel(): { id: string; token: string }
  read(): Promise<readonly StoredChannel[]>
  /**
   * Keeps a channel that was opened, in place of the former one of its calendar. Returns false if the account is not followed
   * any more: nothing is kept then.
   */
  record(channel: KeptChannel & { token: string }): Promise<boolean>
  /** Forgets a channel that has ended. */
  forget(id: string): Promise<void>
}

const channelSchema = z.object({
  resourceId: z.string().min(1).max(1_000),
  expiration: z.coerce.number(),
})

/**
 * Keeps a channel open for each calendar of a user (developers.google.com/workspace/calendar/api/guides/push). Channels
 * cannot be renewed: another one takes the place of a channel at half of its life, which is then stopped.
 */
export class Channels {
  readonly #api: CalendarApi
  readonly #plan: ChannelPlan
  readonly #trouble
  readonly #refused = new Map<string, number>()
  /** By the keys of their calendars; null until they were read. */
  #kept: Map<string, StoredChannel> | null = null

  constructor(api: CalendarApi, plan: ChannelPlan) {
    this.#api = api
    this.#plan = plan
    this.#trouble = pushTrouble('Google refuses to send notices', () => api.now())
  }

  /** Whether Google notifies of the changes of a calendar. */
  isPushed(calendarKey: string): boolean {
    const channel = this.#kept?.get(calendarKey)
    return channel !== undefined && channel.leadsHere && channel.expiresAt.getTime() > this.#api.now()
  }

  /** Opens channels that are missing or due for these calendars, and stops those of others. */
  async keep(calendarKeys: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#trouble.isPaused) return
    try {
      const stored = this.#kept ? null : await this.#plan.read()
      const kept = (this.#kept ??= new Map(stored!.map(channel => [channel.calendarKey, channel])))
      for (const channel of [...kept.values()].filter(({ calendarKey }) => !calendarKeys.has(calendarKey))) {
        await this.#stop(channel)
        await this.#plan.forget(channel.id)
        kept.delete(channel.calendarKey)
      }
      const due = [...calendarKeys].filter(key => this.#isDue(kept.get(key), key))
      for (const key of due.slice(0, OPENED_MAX)) {
        if (signal.aborted) return
        await this.#open(key, kept)
      }
      this.#trouble.end()
    } catch (error) {
      if (!signal.aborted) this.#trouble.note(error)
    }
  }

  #isDue(channel: StoredChannel | undefined, key: string): boolean {
    const now = this.#api.now()
    const refusedAt = this.#refused.get(key)
    if (refusedAt !== undefined && now >= refusedAt && now - refusedAt < REFUSED_MS) return false
    if (!channel?.leadsHere) return true
    // None is replaced later than after this time, unless the clock was set back.
    const renewIn = channel.renewAt.getTime() - now
    return renewIn <= 0 || renewIn > LIFE_MS
  }

  async #open(calendarKey: string, kept: Map<string, StoredChannel>): Promise<void> {
    const { id, token } = this.#plan.newChannel()
    const opened = await this.#watch(calendarKey, { id, token })
    if (!opened) return
    const channel = { id, calendarKey, ...opened }
    if (!(await this.#plan.record({ ...channel, token }))) return this.#stop(channel)
    const former = kept.get(calendarKey)
    kept.set(calendarKey, { ...channel, leadsHere: true })
    if (former) await this.#stop(former)
  }

  /** @returns null if Google refuses a channel for this calendar */
  async #watch(calendarKey: string, { id, token }: { id: string; token: string }) {
    const now = this.#api.now()
    try {
      const { resourceId, expiration } = await this.#api.ask({
        method: 'POST',
        path: `${eventsPath(calendarKey)}/watch`,
        json: {
          id,
          token,
          type: 'web_hook',
          address: this.#plan.address,
          expiration: String(now + LIFE_MS),
        },
        schema: channelSchema,
      })
      if (!(expiration > now))
        throw new ProviderFailure('rejected', 'Google Calendar granted a channel that is over.')
      const life = Math.min(expiration - now, LIFE_MS)
      return { resourceId, expiresAt: new Date(now + life), renewAt: new Date(now + life / 2) }
    } catch (error) {
      if (!(error instanceof ProviderFailure) || !isRefusal(error)) throw error
      this.#refused.set(calendarKey, now)
      return null
    }
  }

  /** Stops a channel. If that fails, it ends by itself. */
  async #stop({ id, resourceId }: Pick<KeptChannel, 'id' | 'resourceId'>): Promise<void> {
    try {
      await this.#api.ask({
        method: 'POST',
        path: 'channels/stop',
        json: { id, resourceId },
        schema: z.unknown(),
      })
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
    }
  }
}
