import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Logger } from '../../../kit/log.ts'

const FIRST_AFTER = 500
const GROWTH_TO_ANALYZE = 0.5

/**
 * Keeps PostgreSQL's idea of the size of the message tables near the truth while a sync fills them. Its own analysis
 * comes up to a minute late, and until then a page of a list may be planned as if the account held a hundred messages.
 */
export class TableStatistics {
  readonly #db: Db
  readonly #log: Logger
  #inserted = 0
  #analyzing: Promise<void> | null = null

  constructor(db: Db, log: Logger) {
    this.#db = db
    this.#log = log
  }

  /** Counts messages that were inserted. Returns at once and never throws. */
  inserted(count: number): void {
    this.#inserted += count
    if (this.#inserted < FIRST_AFTER || this.#analyzing) return
    this.#analyzing = this.#analyzeWhereGrown()
      .catch((error: unknown) => this.#log.warn({ error }, 'Could not analyze the message tables'))
      .finally(() => (this.#analyzing = null))
  }

  async #analyzeWhereGrown(): Promise<void> {
    const { rows } = await sql<{ known: number }>`
      select greatest(reltuples, 0) as known from pg_class where oid = 'message'::regclass
    `.execute(this.#db)
    const isStale = this.#inserted >= GROWTH_TO_ANALYZE * (rows[0]?.known ?? 0)
    if (!isStale) return
    this.#inserted = 0
    await sql`analyze message, message_mailbox, thread_link`.execute(this.#db)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#analyzing
  }
}
