import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'

const LEASE_SECONDS = 10
const HEARTBEAT_MS = 2_000
/** Ends our own work well before others may take it over, should the database be out of reach or this process sleep. */
const SELF_FENCE_MS = 7_000

/**
 * This process among others that share the database. It owns accounts while its heartbeat is fresh: by the database's
 * clock for the others, by the monotonic clock for itself.
 */
export class Instance implements AsyncDisposable {
  readonly id = newId()
  readonly #db: Kysely<Tables>
  readonly #log: Logger
  readonly #timer: NodeJS.Timeout
  #beatAt = performance.now()
  #beating: Promise<void> = Promise.resolve()

  private constructor(db: Kysely<Tables>, log: Logger) {
    this.#db = db
    this.#log = log
    this.#timer = setInterval(() => {
      this.#beating = this.#beat().catch((error: unknown) => this.#log.warn({ error }, 'Heartbeat failed'))
    }, HEARTBEAT_MS)
  }

  /** @param isAlone no other process can be using this database, so whoever is registered is dead */
  static async register(db: Kysely<Tables>, log: Logger, isAlone: boolean): Promise<Instance> {
    if (isAlone) await db.deleteFrom('instance').execute()
    else
      await sql`delete from instance where heartbeat_until < clock_timestamp() - interval '1 day'`.execute(db)
    const instance = new Instance(db, log)
    await instance.#beat()
    return instance
  }

  /** False once the heartbeat is so old that another instance may soon own our accounts. */
  get isAlive(): boolean {
    return performance.now() - this.#beatAt < SELF_FENCE_MS
  }

  async #beat(): Promise<void> {
    const startedAt = performance.now()
    const until = sql<Date>`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`
    await this.#db
      .insertInto('instance')
      .values({ id: this.id, heartbeat_until: until })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ heartbeat_until: until }))
      .execute()
    this.#beatAt = startedAt
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#beating
    await this.#db.deleteFrom('instance').where('id', '=', this.id).execute()
  }
}
