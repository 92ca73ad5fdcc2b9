import type { Db } from '../../../database/pool.ts'
import type { News } from '../../../events/news.ts'
import { Nudge, pause } from '../../../jobs/nudge.ts'
import { type FeedFilter, type FeedPage, readFeed } from './store.ts'

/** Reads that run at the same time for all who wait in this process. */
const READS_AT_ONCE = 4

/** One who waits for events. Holds no connection. */
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

interface QueuedRead {
  run(): Promise<FeedPage>
  done: PromiseWithResolvers<FeedPage>
}

/**
 * Lets any number of clients wait for events of their tenants. Equal reads that have not begun are one read: those who
 * have read everything, and wait for the same, share what comes.
 */
export class FeedWatch {
  readonly #db: Db
  readonly #news: News
  readonly #waiting = new Map<string, Set<Waiting>>()
  readonly #reads = new Map<string, QueuedRead>()
  #listening: Disposable | null = null
  #reading = 0

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
    if (queued) return queued.done.promise
    const done = Promise.withResolvers<FeedPage>()
    this.#reads.set(key, { run: () => readFeed(this.#db, filter, after, limit), done })
    // Not at once: other readers of the same news, who are all woken by now, may still join.
    process.nextTick(() => this.#start())
    return done.promise
  }

  #start(): void {
    for (const [key, { run, done }] of this.#reads) {
      if (this.#reading >= READS_AT_ONCE) return
      this.#reads.delete(key)
      this.#reading += 1
      void run()
        .then(done.resolve, done.reject)
        .finally(() => {
          this.#reading -= 1
          this.#start()
        })
    }
  }
}
