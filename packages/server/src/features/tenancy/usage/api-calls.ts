import type { Scope } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { DatabaseUnavailable } from '../../../database/unavailable.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Logger } from '../../../kit/log.ts'

/** The counts that a dying process has not written yet are at most this old, plus the time of a statement. */
const FLUSH_SECONDS = 5
/** Counts that one statement writes. */
const FLUSH_ROWS_MAX = 5_000

interface CallCount {
  tenantId: string
  /** `YYYY-MM-DD` in UTC. */
  day: string
  scope: Scope
  count: number
}

export interface ApiCallsOptions {
  db: Db
  clock: Clock
  log: Logger
}

/**
 * Counts the calls that this process lets in, and writes the counts every few seconds: all tenants by one statement.
 * Disposing writes the rest.
 */
export class ApiCalls implements AsyncDisposable {
  readonly #options: ApiCallsOptions
  readonly #loop: WokenLoop
  readonly #counts = new Map<string, CallCount>()

  constructor(options: ApiCallsOptions) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: () => this.#flush().then(() => FLUSH_SECONDS),
      failure: 'Could not write the counts of API calls',
      log: options.log,
      retrySecondsMax: FLUSH_SECONDS,
    })
  }

  /** Counts a call on the current day. */
  count(tenantId: string, scope: Scope): void {
    const day = new Date(this.#options.clock.now()).toISOString().slice(0, 10)
    this.#add({ tenantId, day, scope, count: 1 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    try {
      await this.#flush()
    } catch (error) {
      this.#options.log.warn({ error, count: this.#total() }, 'The last API calls are not counted')
    }
  }

  #add(more: CallCount): void {
    const key = `${more.tenantId} ${more.day} ${more.scope}`
    const known = this.#counts.get(key)
    if (known) known.count += more.count
    else this.#counts.set(key, more)
  }

  async #flush(): Promise<void> {
    while (this.#counts.size > 0) {
      const written = [...this.#counts.values()].slice(0, FLUSH_ROWS_MAX)
      for (const { tenantId, day, scope } of written) this.#counts.delete(`${tenantId} ${day} ${scope}`)
      try {
        await insertCounts(this.#options.db, written)
      } catch (error) {
        // Counts that may be written already are not written again, so that no call counts twice.
        const mayBeWritten = error instanceof DatabaseUnavailable && error.mayHaveTakenEffect
        if (!mayBeWritten) for (const count of written) this.#add(count)
        throw error
      }
    }
  }

  #total(): number {
    return [...this.#counts.values()].reduce((total, { count }) => total + count, 0)
  }
}

async function insertCounts(db: Db, counts: readonly CallCount[]): Promise<void> {
  await sql`
    insert into usage_count (tenant_id, day, what, count)
    select * from unnest(
      ${counts.map(({ tenantId }) => tenantId)}::uuid[],
      ${counts.map(({ day }) => day)}::date[],
      ${counts.map(({ scope }) => scope)}::text[],
      ${counts.map(({ count }) => count)}::int[]
    )
  `.execute(db)
}
