import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { NoticeSender, type Wakes } from '../database/wake.ts'
import type { Pulse } from '../processes/pulse.ts'
import { WokenLoop } from '../processes/woken-loop.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'

/** Hears of new events, once they are committed. May hear of the same ones more than once. */
export interface NewsListener {
  /** The tenant has new events of these types. */
  onNews(tenantId: string, types: ReadonlySet<string>): void
  /** Any tenant may have new events: notices may have been missed. */
  onUnsure(): void
}

/** Reports the events that this process and all others commit. */
export interface News extends AsyncDisposable {
  listen(listener: NewsListener): Disposable
}

/** News that no notice reported is looked for this often after an event, */
const POLL_SECONDS = 1
/** and otherwise when the pulse finds that there are new events; this poll is only a safeguard. */
const IDLE_POLL_SECONDS = 30
/** A poll reads back this much further than the last one: an event becomes visible later than it is created. */
const OVERLAP_SECONDS = 5
/** More ids than are taken within the time that a poll reads, so that it leaves out all older partitions. */
const POLLED_IDS_MAX = 5_000_000
/** The id that was given last, or 0: the first id leaves `last_value` as it was. */
const LAST_ID = sql<string>`(select case when is_called then last_value else 0 end from event_id)`
/** NOTIFY accepts fewer than 8,000 bytes. */
const NOTICE_BYTES_MAX = 7_900

type TypesByTenant = Map<string, Set<string>>

const publishers = new WeakMap<Db, Set<(tenantId: string, types: ReadonlySet<string>) => void>>()

/**
 * Notifies the listeners in all processes that a transaction through this pool has committed events. Called by
 * `inTransaction` alone. Costs the caller nothing: listeners take a note, and other processes are told together.
 */
export function publishNews(db: Db, tenantId: string, types: ReadonlySet<string>): void {
  for (const publish of publishers.get(db) ?? []) publish(tenantId, types)
}

export interface NewsOptions {
  db: Db
  wakes: Wakes
  pulse: Pulse
  log: Logger
}

/**
 * Connects what commits through the pool with what listens. In this process listeners hear at once, in others by a
 * notice, of which a process sends at most 20 a second. A process that dies between its commit and its notice is the
 * only one whose news waits for a poll.
 */
export function openNews({ db, wakes, pulse, log }: NewsOptions): News {
  const listeners = new Set<NewsListener>()
  const waiting: TypesByTenant = new Map()
  const self = newId()
  const take = () => takePayload(self, waiting)
  const sender = new NoticeSender({ db, log, channel: 'waxwing_event', take })
  const tell = (tenantId: string, types: ReadonlySet<string>) => {
    for (const listener of listeners) listener.onNews(tenantId, types)
  }
  const publish = (tenantId: string, types: ReadonlySet<string>) => {
    tell(tenantId, types)
    const told = waiting.get(tenantId) ?? new Set()
    waiting.set(tenantId, told)
    for (const type of types) told.add(type)
    sender.send()
  }
  const published = publishers.get(db) ?? new Set()
  publishers.set(db, published.add(publish))

  let poll: NewsPoll | null = null
  function start() {
    wakes.on(['waxwing_event'], {
      onWake: ([from, ...items]) => from !== self && items.forEach(item => tellItem(item, tell)),
      onListening: () => listeners.forEach(listener => listener.onUnsure()),
    })
    return new NewsPoll({ db, pulse, log }, tell)
  }
  return {
    listen(listener) {
      poll ??= start()
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
    async [Symbol.asyncDispose]() {
      published.delete(publish)
      await poll?.[Symbol.asyncDispose]()
      await sender[Symbol.asyncDispose]()
    },
  }
}

/** A payload names the process that sends it, then each tenant with the types of its events. */
function takePayload(self: string, waiting: TypesByTenant): string | null {
  if (waiting.size === 0) return null
  let payload = self
  for (const [tenantId, types] of waiting) {
    const item = `,${[tenantId, ...types].join(' ')}`
    if (payload.length + item.length > NOTICE_BYTES_MAX) break
    payload += item
    waiting.delete(tenantId)
  }
  return payload
}

function tellItem(item: string, tell: (tenantId: string, types: ReadonlySet<string>) => void): void {
  const [tenantId, ...types] = item.split(' ')
  if (tenantId) tell(tenantId, new Set(types))
}

/** Looks for events that were created since the last poll, with or without a notice. Reads those, not all that exist. */
class NewsPoll implements AsyncDisposable {
  readonly #db: Db
  readonly #tell: (tenantId: string, types: ReadonlySet<string>) => void
  readonly #loop: WokenLoop
  #lastId: string | null = null
  #polledAt = performance.now()
  #changedAt = performance.now()
  /** The largest id of each tenant that the last poll saw. */
  #seen = new Map<string, string>()

  constructor({ db, pulse, log }: Omit<NewsOptions, 'wakes'>, tell: NewsListener['onNews']) {
    this.#db = db
    this.#tell = tell
    const isDue = () => sql<boolean>`(${LAST_ID} <> ${this.#lastId ?? '0'}::bigint)`
    this.#loop = new WokenLoop({
      look: () => this.#look(),
      listen: wake => pulse.ask({ isDue, onDue: wake }),
      failure: 'Could not look for new events',
      log,
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loop[Symbol.asyncDispose]()
  }

  async #look(): Promise<number> {
    const now = performance.now()
    const { rows } = await sql<{ id: string }>`select ${LAST_ID} as id`.execute(this.#db)
    const lastId = rows[0]?.id ?? '0'
    if (lastId !== this.#lastId) this.#changedAt = now
    this.#lastId = lastId
    const sinceSeconds = (now - this.#polledAt) / 1_000 + OVERLAP_SECONDS
    // Ids are taken before the commit, so the events of the last ones may still be on their way.
    const isRecent = (now - this.#changedAt) / 1_000 < sinceSeconds
    if (isRecent) await this.#tellSince(sinceSeconds, lastId)
    this.#polledAt = now
    return isRecent ? POLL_SECONDS : IDLE_POLL_SECONDS
  }

  async #tellSince(seconds: number, lastId: string): Promise<void> {
    const { rows } = await sql<{ tenantId: string; id: string; types: string[] }>`
      select tenant_id as "tenantId", max(id) as id, array_agg(distinct type) as types from event
      where created_at > clock_timestamp() - make_interval(secs => ${seconds})
        and id > ${lastId}::bigint - ${POLLED_IDS_MAX}
      group by tenant_id
    `.execute(this.#db)
    const seen = this.#seen
    this.#seen = new Map(rows.map(({ tenantId, id }) => [tenantId, id]))
    for (const { tenantId, id, types } of rows)
      if (seen.get(tenantId) !== id) this.#tell(tenantId, new Set(types))
  }
}
