import type { Db } from '../../../database/pool.ts'
import type { News } from '../../../events/news.ts'
import { Nudge, pause } from '../../../processes/nudge.ts'
import { openFairSemaphore } from '../../../kit/fair-semaphore.ts'
import { type FeedFilter, type FeedPage, readFeed } from './store.ts'

/** Reads that run at the same time for all who wait in this process. */
const READS_AT_ONCE = 4

/** A client that waits for events. Holds no connection. */
export interface FeedWaiter extends Disposable {
  /** Reads the feed after an event. News that come after the call end the next pause. */
  read(after: string, limit: number): Promise<FeedPage>
  /** Waits for news that may fit the filter, at most so long, or until the signal aborts. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void>
}

interface Waiting {
  nudge: Nudge
  filter: FeedFilter
}

/**
 * Lets any number of clients wait for events of their tenants. Equal reads that have not begun are one read: clients
 * that have read everything, and wait for the same events, share the next read.
 */
export class FeedWatch {
  readonly #db: Db
  readonly #news: News
  readonly #waiting = new Map<string, Set<Waiting>>()
  /** Reads that have not begun. */
  readonly #reads = new Map<string, Promise<FeedPage>>()
  readonly #permits = openFairSemaphore({ atOnce: READS_AT_ONCE })
  #listening: Disposable | null = null

  constructor(db: Db, news: News) {
    this.#db = db
    this.#news = news
  }

  enter(filter: FeedFilter): FeedWaiter {
    const waiting: Waiting = { nudge: new Nudge(), filter }
    const ofTenant = this.#waiting.get(filter.tenantId) ?? new Set()
    this.#waiting.set(filter.tenantId, ofTenant.add(waiting))
    this.#listening ??= this.#listen()
    return {
      read: (after, limit) => {
        waiting.nudge.clear()
        return this.#read(filter, after, limit)
      },
      pause: (milliseconds, signal) => pause(milliseconds, signal, waiting.nudge.signal),
      [Symbol.dispose]: () => this.#leave(waiting),
    }
  }

  #leave(waiting: Waiting): void {
    const { tenantId } = waiting.filter
    const ofTenant = this.#waiting.get(tenantId)
    ofTenant?.delete(waiting)
    if (ofTenant?.size === 0) this.#waiting.delete(tenantId)
    if (this.#waiting.size > 0) return
    this.#listening?.[Symbol.dispose]()
    this.#listening = null
  }

  #listen(): Disposable {
    return this.#news.listen({
      onNews: (tenantId, types) => {
        for (const { filter, nudge } of this.#waiting.get(tenantId) ?? [])
          if (filter.types?.some(type => types.has(type)) ?? true) nudge.fire()
      },
      onUnsure: () => {
        for (const ofTenant of this.#waiting.values()) for (const { nudge } of ofTenant) nudge.fire()
      },
    })
  }

  #read(filter: FeedFilter, after: string, limit: number): Promise<FeedPage> {
    const key = JSON.stringify([filter.tenantId, filter.accountIds, filter.types, after, limit])
    const queued = this.#reads.get(key)
    if (queued) return queued
    const read = this.#readInTurn(key, filter, after, limit)
    this.#reads.set(key, read)
    return read
  }

  async #readInTurn(key: string, filter: FeedFilter, after: string, limit: number): Promise<FeedPage> {
    // Not at once: other readers of the same news, who are all woken by now, may still join.
    await new Promise<void>(resolve => process.nextTick(resolve))
    // Not null, since any number may wait.
    return this.#permits.take(filter.tenantId, () => {
      this.#reads.delete(key)
      return readFeed(this.#db, filter, after, limit)
    })!
  }
}
