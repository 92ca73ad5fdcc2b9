import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { OwnedAccount } from './ownership.ts'

export type RuntimeState = 'pending' | 'connecting' | 'syncing' | 'live' | 'backoff' | 'stopped'

const DETAIL_CHARACTERS_MAX = 500
/** Minimum interval between two reports of progress. A change of state is written at once. */
const PROGRESS_INTERVAL_MS = 2_000

/** Writes into the account's `runtime` what its owner is doing, while it is the owner. */
export class RuntimeReport {
  readonly #db: Kysely<Tables>
  readonly #owned: OwnedAccount
  #state: RuntimeState = 'pending'
  #detail: string | null = null
  #writtenAt = 0
  /** True at first, since an earlier owner of the account may have reported a failure. */
  #mayBeFailing = true

  constructor(db: Kysely<Tables>, owned: OwnedAccount) {
    this.#db = db
    this.#owned = owned
  }

  /** @param hasBrought whether anything was brought in since the last report: then the account is not failing */
  async tell(
    state: RuntimeState,
    detail: string | null = null,
    { hasBrought = false }: { hasBrought?: boolean } = {},
  ): Promise<void> {
    const isSuccess = state === 'live' || hasBrought
    const isProgress = state === this.#state && !(isSuccess && this.#mayBeFailing)
    if (isProgress && detail === this.#detail) return
    if (isProgress && performance.now() - this.#writtenAt < PROGRESS_INTERVAL_MS) return
    this.#state = state
    this.#detail = detail
    this.#writtenAt = performance.now()
    const { id, instanceId, epoch } = this.#owned
    await sql`
      update account set runtime_state = ${state}, runtime_detail = ${detail?.slice(0, DETAIL_CHARACTERS_MAX) ?? null},
        runtime_instance = ${instanceId}, runtime_updated_at = clock_timestamp(),
        behind_since = case when ${state} = 'live' then null else coalesce(behind_since, clock_timestamp()) end,
        failing_since = case
          when ${isSuccess} then null
          when ${state} = 'backoff' then coalesce(failing_since, clock_timestamp())
          else failing_since
        end
      where id = ${id} and owner_instance = ${instanceId} and owner_epoch = ${epoch}
    `.execute(this.#db)
    if (isSuccess) this.#mayBeFailing = false
    if (state === 'backoff') this.#mayBeFailing = true
  }
}
