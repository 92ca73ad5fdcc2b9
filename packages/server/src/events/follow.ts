import type { EventData, EventType } from '@waxwing/contract/events.ts'
import { type RawBuilder, sql } from 'kysely'
import { inOneFlight } from '../database/in-one-flight.ts'
import type { Db } from '../database/pool.ts'
import { executeUnawaited } from '../database/unawaited.ts'
import { WokenLoop } from '../processes/woken-loop.ts'
import type { Logger } from '../kit/log.ts'
import { passPoints, type ReachPoint } from '../kit/reach-point.ts'
import type { News } from './news.ts'
import { inTransaction, type UnitOfWork } from './unit-of-work.ts'

/** An event of the log. */
export type FollowedEvent<T extends EventType = EventType> = {
  [K in T]: { id: string; type: K; accountId: string | null; createdAt: Date; data: EventData<K> }
}[T]

/** A named subscription of the event log of every tenant. */
export interface EventSubscription<T extends EventType> {
  /** Lower-case words with underscores. Stored with each position, so it stays the same in every release. */
  name: string
  types: readonly T[]
  /**
   * A condition: whether the tenant's events are wanted at all; by default they are. It decides for what was committed at
   * the same moment. Events that are not wanted are passed over unread.
   */
  isWanted?(tenantId: string): RawBuilder<boolean>
  /**
   * Handles events of one tenant, at most 200, oldest first. Runs in the transaction that moves the position, so its
   * rows and its own events exist exactly if the position has moved. It writes rows and announces, nothing else: a
   * provider or another server is asked later, by the worker that reads those rows.
   */
  handle(unit: UnitOfWork, events: readonly FollowedEvent<T>[]): Promise<void>
}

export interface EventFollowerOptions<T extends EventType> {
  db: Db
  log: Logger
  news: News
  subscription: EventSubscription<T>
  /** Called after each batch, once it is committed. */
  onHandled?(): void
  reach?: ReachPoint
}

/** Every tenant is looked at this often. Between, only those are that have news, or failed before. */
const POLL_SECONDS = 60
/** News of tenants whose events nobody wants are looked at this long after the first of them. */
const UNWANTED_SECONDS = 1
const TENANTS_AT_ONCE = 100
const EVENTS_AT_ONCE = 200
/** Events of other types that a batch passes over. */
const SCANNED_EVENTS_MAX = 5_000
const RETRY_SECONDS_MAX = 300

/**
 * Hands the events of every tenant to a follower, each exactly once and in the order of the log. Any number of
 * processes may run the same follower: the row with the position of a tenant is locked during a batch, and a
 * process that dies gives it back. Appends never wait for a follower. A batch that fails is tried again with growing pauses; the
 * other tenants go on meanwhile.
 */
export class EventFollower<T extends EventType> implements AsyncDisposable {
  readonly #options: EventFollowerOptions<T>
  readonly #loop: WokenLoop
  readonly #listening: Disposable
  /** Tenants with news. */
  #told = new Set<string>()
  /** Tenants whose last events nobody wanted. */
  readonly #unwanted = new Set<string>()
  /** Unwanted tenants with news, and the timer of their pause. */
  readonly #toldLater = new Set<string>()
  #later: NodeJS.Timeout | null = null
  /** When every tenant is looked at, by `performance.now()`. */
  #lookAt = 0

  constructor(options: EventFollowerOptions<T>) {
    this.#options = options
    const { log, news, subscription } = options
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      failure: `Could not follow events (${subscription.name})`,
      log,
    })
    this.#listening = news.listen({
      onNews: (tenantId, types) => {
        if (subscription.types.some(type => types.has(type))) this.#hear(tenantId)
      },
      onUnsure: () => this.lookAtAll(),
    })
  }

  /** Looks at every tenant soon. Returns at once and never throws. */
  lookAtAll(): void {
    this.#lookAt = 0
    this.#loop.wake()
  }

  /** News of a tenant whose events nobody wants, such as those of one without endpoints, are collected for a while. */
  #hear(tenantId: string): void {
    if (!this.#unwanted.has(tenantId)) {
      this.#told.add(tenantId)
      return this.#loop.wake()
    }
    this.#toldLater.add(tenantId)
    this.#later ??= setTimeout(() => {
      this.#later = null
      for (const id of this.#toldLater) this.#told.add(id)
      this.#toldLater.clear()
      this.#loop.wake()
    }, UNWANTED_SECONDS * 1_000)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#listening[Symbol.dispose]()
    if (this.#later) clearTimeout(this.#later)
    return this.#loop[Symbol.asyncDispose]()
  }

  async #look(signal: AbortSignal): Promise<number> {
    const isDue = performance.now() >= this.#lookAt
    const told = this.#told
    this.#told = new Set()
    if (isDue) this.#lookAt = performance.now() + POLL_SECONDS * 1_000
    try {
      const left = isDue ? null : await this.#followTold(told, signal)
      const behind = await listBehind(this.#options, left)
      for (const tenant of behind) {
        if (signal.aborted) return 0
        if (await this.#follow(tenant)) this.#told.add(tenant.tenantId)
      }
      if (behind.length === TENANTS_AT_ONCE) this.#lookAt = 0
    } catch (error) {
      this.#lookAt = 0
      throw error
    }
    return this.#told.size > 0 ? 0 : Math.max(0, this.#lookAt - performance.now()) / 1_000
  }

  /** Follows tenants with news without asking first whether they are behind. @returns those that it cannot follow so */
  async #followTold(told: ReadonlySet<string>, signal: AbortSignal): Promise<string[]> {
    const left: string[] = []
    for (const tenantId of told) {
      if (signal.aborted) break
      const hasMore = await this.#follow({ tenantId, isNew: false })
      if (hasMore) this.#told.add(tenantId)
      if (hasMore === null) left.push(tenantId)
    }
    return left
  }

  /** Handles a batch. @returns whether there is more; null if its position could not be held */
  async #follow(tenant: BehindTenant): Promise<boolean | null> {
    const { db, log, subscription } = this.#options
    const { tenantId } = tenant
    try {
      if (tenant.isNew) await addPosition(db, subscription.name, tenantId)
      const handled = await inTransaction(db, tenantId, unit => handleBatch(unit, this.#options))
      if (handled === null) return null
      if (handled.isWanted) this.#unwanted.delete(tenantId)
      else this.#unwanted.add(tenantId)
      this.#options.onHandled?.()
      return handled.hasMore
    } catch (error) {
      log.warn({ error, tenantId, kind: subscription.name }, 'Events could not be handled; they are retried')
      const retrySeconds = await recordFailure(db, subscription.name, tenantId)
      this.#lookAt = Math.min(this.#lookAt, performance.now() + retrySeconds * 1_000)
      return false
    }
  }
}

interface BehindTenant {
  tenantId: string
  /** It has no position yet. */
  isNew: boolean
}

/** Tenants with events after their position, the longest waiting first. @param tenantIds null: all tenants */
async function listBehind<T extends EventType>(
  { db, subscription }: EventFollowerOptions<T>,
  tenantIds: readonly string[] | null,
): Promise<BehindTenant[]> {
  if (tenantIds?.length === 0) return []
  const { rows } = await sql<BehindTenant>`
    select tenant.id as "tenantId", follower.name is null as "isNew"
    from tenant left join event_follower as follower
      on follower.tenant_id = tenant.id and follower.name = ${subscription.name}
    where coalesce(follower.due_at <= clock_timestamp(), true)
      ${tenantIds === null ? sql`` : sql`and tenant.id = any(${[...tenantIds]}::uuid[])`}
      and exists (
        select from event where event.tenant_id = tenant.id and event.id > coalesce(follower.after_id, 0) offset 0
      )
    order by coalesce(follower.after_id, 0) limit ${TENANTS_AT_ONCE}
  `.execute(db)
  return rows
}

async function addPosition(db: Db, name: string, tenantId: string): Promise<void> {
  await sql`
    insert into event_follower (name, tenant_id) values (${name}, ${tenantId}) on conflict do nothing
  `.execute(db)
}

/** @returns null if the tenant's position is not there, held by another process, or not due */
async function handleBatch<T extends EventType>(
  unit: UnitOfWork,
  { subscription, reach = passPoints }: EventFollowerOptions<T>,
): Promise<Pick<EventBatch<T>, 'hasMore' | 'isWanted'> | null> {
  const { name, handle } = subscription
  const batch = await holdAndRead(unit, subscription)
  if (batch?.readUpTo == null) return batch
  const moving = sql`
    update event_follower set after_id = ${batch.readUpTo}, failures = 0, due_at = null
    where name = ${name} and tenant_id = ${unit.tenantId}`
  await executeUnawaited(unit.sql, moving)
  if (batch.events.length > 0) await handle.call(subscription, unit, batch.events)
  await reach('events_handled', unit.tenantId)
  return batch
}

interface EventBatch<T extends EventType> {
  events: FollowedEvent<T>[]
  /** Everything up to this event is in the batch or of another type; null: there is nothing. */
  readUpTo: string | null
  hasMore: boolean
  /** Whether the tenant's events are wanted at all. */
  isWanted: boolean
}

/**
 * Holds the tenant's position and reads on after it. `appendEvents` makes ids visible in order, so nothing can appear
 * later before an id that was read. Events of a purged account are empty, and passed over.
 * @returns null if the position cannot be held
 */
async function holdAndRead<T extends EventType>(
  { sql: tx, tenantId }: UnitOfWork,
  { name, types, isWanted }: EventSubscription<T>,
): Promise<EventBatch<T> | null> {
  const own = sql`name = ${name} and tenant_id = ${tenantId}`
  const holding = sql`
    select from event_follower where ${own} and coalesce(due_at <= clock_timestamp(), true)
    for update skip locked`
  const after = sql`(select after_id from event_follower where ${own})`
  type Row = FollowedEvent<T> & {
    bound: string | null
    scanned: number
    isWanted: boolean
    id: string | null
  }
  const reading = sql<Row>`
    with bound as (
      select max(id) as id, count(*)::int as scanned, ${isWanted?.(tenantId) ?? sql`true`} as is_wanted from (
        select id from event where tenant_id = ${tenantId} and id > ${after}
        order by id limit ${SCANNED_EVENTS_MAX}
      ) as scanned
    )
    select bound.id as bound, bound.scanned, bound.is_wanted as "isWanted", wanted.id, wanted.type, wanted.account_id as "accountId",
      wanted.created_at as "createdAt", wanted.data
    from bound left join lateral (
      select * from event
      where tenant_id = ${tenantId} and id > ${after} and id <= bound.id and type = any(${[...types]}::text[])
        and data::text <> '{}' and bound.is_wanted
      order by id limit ${EVENTS_AT_ONCE}
    ) as wanted on true
    order by wanted.id`
  // The second statement begins when the position is held, so it sees the latest one.
  const [held, rows] = await inOneFlight(tx, [holding, reading])
  if (held.length === 0) return null
  const [first] = rows
  const events = rows.filter(row => row.id !== null)
  const isFull = events.length === EVENTS_AT_ONCE
  return {
    events,
    readUpTo: (isFull ? events.at(-1)?.id : first?.bound) ?? null,
    hasMore: isFull || first?.scanned === SCANNED_EVENTS_MAX,
    isWanted: first?.isWanted ?? true,
  }
}

/** @returns the seconds after which it is tried again */
async function recordFailure(db: Db, name: string, tenantId: string): Promise<number> {
  const { rows } = await sql<{ failures: number }>`
    update event_follower set failures = least(failures + 1, 30),
      due_at = clock_timestamp() + make_interval(secs => least(2 ^ least(failures, 10), ${RETRY_SECONDS_MAX}))
    where name = ${name} and tenant_id = ${tenantId}
    returning failures
  `.execute(db)
  return Math.min(2 ** Math.min((rows[0]?.failures ?? 1) - 1, 10), RETRY_SECONDS_MAX)
}
