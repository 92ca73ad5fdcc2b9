import type { EventData, EventType } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { WokenLoop } from '../jobs/woken-loop.ts'
import type { Logger } from '../kit/log.ts'
import { passPoints, type ReachPoint } from '../kit/reach-point.ts'
import { inTransaction, type UnitOfWork } from './unit-of-work.ts'

/** An event of the log. */
export type FollowedEvent<T extends EventType = EventType> = {
  [K in T]: { id: string; type: K; accountId: string | null; createdAt: Date; data: EventData<K> }
}[T]

/** What follows the event log of every tenant. */
export interface Following<T extends EventType> {
  /** Lower-case words with underscores. Stored with each position, so it stays the same in every release. */
  name: string
  types: readonly T[]
  /**
   * Handles events of one tenant, at most 200, oldest first. Runs in the transaction that moves the position, so its
   * rows and its own events exist exactly if the position has moved. It writes rows and announces, nothing else: a
   * provider or another server is asked later, by whoever reads those rows.
   */
  handle(unit: UnitOfWork, events: readonly FollowedEvent<T>[]): Promise<void>
}

export interface EventFollowerOptions<T extends EventType> {
  db: Db
  log: Logger
  following: Following<T>
  /** Called after each batch, once it is committed. */
  onHandled?(): void
  reach?: ReachPoint
}

/** Every tenant is looked at this often. Between, only those are that were woken. */
const POLL_SECONDS = 5
const TENANTS_AT_ONCE = 100
const EVENTS_AT_ONCE = 200
/** Events of other types that a batch passes over. */
const SCANNED_EVENTS_MAX = 5_000
const RETRY_SECONDS_MAX = 300

/**
 * Hands the events of every tenant to a follower, each exactly once and in the order of the log. Any number of
 * processes may run the same follower: the row with the position of a tenant is locked during a batch, and whoever
 * dies gives it back. Appends never wait for a follower. A batch that fails is tried again with growing pauses; the
 * other tenants go on meanwhile.
 */
export class EventFollower<T extends EventType> implements AsyncDisposable {
  readonly #options: EventFollowerOptions<T>
  readonly #loop: WokenLoop
  /** Accounts with news. */
  #told = new Set<string>()
  /** When every tenant is looked at, by `performance.now()`. */
  #lookAt = 0

  constructor(options: EventFollowerOptions<T>) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      failure: `Could not follow events (${options.following.name})`,
      log: options.log,
    })
  }

  /**
   * Says that the tenants of these accounts have new events; null: that any may have. Returns at once and never throws.
   */
  wake(accountIds: readonly string[] | null): void {
    if (accountIds === null) this.#lookAt = 0
    else for (const id of accountIds) this.#told.add(id)
    this.#loop.wake()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loop[Symbol.asyncDispose]()
  }

  async #look(signal: AbortSignal): Promise<number> {
    const isDue = performance.now() >= this.#lookAt
    const told = this.#told
    this.#told = new Set()
    try {
      const behind = await listBehind(this.#options, isDue ? null : [...told])
      if (isDue) this.#lookAt = performance.now() + POLL_SECONDS * 1_000
      for (const tenant of behind) {
        if (signal.aborted) return 0
        // What is left of it is found by a look at all.
        if (await this.#follow(tenant)) this.#lookAt = 0
      }
      if (behind.length === TENANTS_AT_ONCE) this.#lookAt = 0
    } catch (error) {
      this.#lookAt = 0
      throw error
    }
    return Math.max(0, this.#lookAt - performance.now()) / 1_000
  }

  /** Handles a batch. @returns whether there is more */
  async #follow(tenant: BehindTenant): Promise<boolean> {
    const { db, log, following } = this.#options
    const { tenantId } = tenant
    try {
      if (tenant.isNew) await addPosition(db, following.name, tenantId)
      const hasMore = await inTransaction(db, tenantId, unit => handleBatch(unit, this.#options))
      this.#options.onHandled?.()
      return hasMore
    } catch (error) {
      log.warn({ error, tenantId, kind: following.name }, 'Events could not be handled; they are retried')
      await recordFailure(db, following.name, tenantId)
      return false
    }
  }
}

interface BehindTenant {
  tenantId: string
  /** It has no position yet. */
  isNew: boolean
}

/** Tenants with events after their position, the longest waiting first. @param accountIds null: all tenants */
async function listBehind<T extends EventType>(
  { db, following }: EventFollowerOptions<T>,
  accountIds: readonly string[] | null,
): Promise<BehindTenant[]> {
  if (accountIds?.length === 0) return []
  const { rows } = await sql<BehindTenant>`
    select tenant.id as "tenantId", follower.name is null as "isNew"
    from tenant left join event_follower as follower
      on follower.tenant_id = tenant.id and follower.name = ${following.name}
    where coalesce(follower.due_at <= clock_timestamp(), true)
      ${accountIds === null ? sql`` : sql`and tenant.id in (select tenant_id from account where id = any(${[...accountIds]}::uuid[]))`}
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

/** @returns whether there is more */
async function handleBatch<T extends EventType>(
  unit: UnitOfWork,
  { following, reach = passPoints }: EventFollowerOptions<T>,
): Promise<boolean> {
  const { name, types, handle } = following
  const { rows: held } = await sql<{ after_id: string }>`
    select after_id from event_follower where name = ${name} and tenant_id = ${unit.tenantId}
    for update skip locked
  `.execute(unit.sql)
  const after = held[0]?.after_id
  // Another process handles a batch of it.
  if (after === undefined) return false
  const batch = await readBatch<T>(unit, after, types)
  if (batch.readUpTo === null) return false
  await sql`
    update event_follower set after_id = ${batch.readUpTo}, failures = 0, due_at = null
    where name = ${name} and tenant_id = ${unit.tenantId}
  `.execute(unit.sql)
  if (batch.events.length > 0) await handle.call(following, unit, batch.events)
  await reach('events_handled', unit.tenantId)
  return batch.hasMore
}

interface EventBatch<T extends EventType> {
  events: FollowedEvent<T>[]
  /** Everything up to this event is in the batch or of another type; null: there is nothing. */
  readUpTo: string | null
  hasMore: boolean
}

/**
 * Reads on after an event. `appendEvents` makes ids visible in order, so nothing can appear later before an id that was
 * read. Events of a purged account are empty, and passed over.
 */
async function readBatch<T extends EventType>(
  unit: UnitOfWork,
  after: string,
  types: readonly T[],
): Promise<EventBatch<T>> {
  type Row = FollowedEvent<T> & { bound: string | null; scanned: number; id: string | null }
  const { rows } = await sql<Row>`
    with bound as (
      select max(id) as id, count(*)::int as scanned from (
        select id from event where tenant_id = ${unit.tenantId} and id > ${after}
        order by id limit ${SCANNED_EVENTS_MAX}
      ) as scanned
    )
    select bound.id as bound, bound.scanned, wanted.id, wanted.type, wanted.account_id as "accountId",
      wanted.created_at as "createdAt", wanted.data
    from bound left join lateral (
      select * from event
      where tenant_id = ${unit.tenantId} and id > ${after} and id <= bound.id and type = any(${[...types]}::text[])
        and data::text <> '{}'
      order by id limit ${EVENTS_AT_ONCE}
    ) as wanted on true
    order by wanted.id
  `.execute(unit.sql)
  const [first] = rows
  const events = rows.filter(row => row.id !== null)
  const isFull = events.length === EVENTS_AT_ONCE
  return {
    events,
    readUpTo: (isFull ? events.at(-1)?.id : first?.bound) ?? null,
    hasMore: isFull || first?.scanned === SCANNED_EVENTS_MAX,
  }
}

async function recordFailure(db: Db, name: string, tenantId: string): Promise<void> {
  await sql`
    update event_follower set failures = least(failures + 1, 30),
      due_at = clock_timestamp() + make_interval(secs => least(2 ^ least(failures, 10), ${RETRY_SECONDS_MAX}))
    where name = ${name} and tenant_id = ${tenantId}
  `.execute(db)
}
