import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Logger } from '../kit/log.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { OwnedAccount } from '../accounts/halves/ownership.ts'
import { recordRuntime, type RuntimeState } from '../accounts/halves/report.ts'

const DETAIL_CHARACTERS_MAX = 500
/** Minimum interval between two reports of progress. Everything else is written at once. */
const PROGRESS_INTERVAL_MS = 2_000

/**
 * Writes what the follower of a half is doing, while it is the owner. The log has a line when the account
 * becomes live for the first time, and after a failure.
 */
export class RuntimeReport {
  readonly #db: Kysely<Tables>
  readonly #owned: OwnedAccount
  readonly #kind: HalfKind
  readonly #log: Logger
  #isKnownLive = false
  #state: RuntimeState = 'pending'
  #detail: string | null = null
  #writtenAt = 0
  /** True at first, since an earlier owner of the account may have reported a failure. */
  #mayBeFailing = true
  /**
   * A known gap in the index of the account, described for people; null if there is none. An account with a gap is
   * not `live`.
   */
  gap: string | null = null

  constructor(db: Kysely<Tables>, owned: OwnedAccount, kind: HalfKind, log: Logger) {
    this.#db = db
    this.#owned = owned
    this.#kind = kind
    this.#log = log
  }

  get state(): RuntimeState {
    return this.#state
  }

  /** The detail that was reported last. */
  get detail(): string | null {
    return this.#detail
  }

  /**
   * An account that has a gap, or is known to differ from its provider, is not `live`, but `syncing`.
   * @param hasBrought given with reports of progress, of which few are written: whether anything was brought in since the
   *   last one, so that the account is not failing
   */
  async tell(
    told: RuntimeState,
    said: string | null = null,
    { hasBrought = null }: { hasBrought?: boolean | null } = {},
  ): Promise<void> {
    const isSuccess = told === 'live' || told === 'stopped' || hasBrought === true
    const gap = told === 'live' ? this.gap : null
    const state = gap === null ? told : 'syncing'
    const detail = gap === null ? said : [gap, ...(said === null ? [] : [said])].join('; ')
    const isSame = state === this.#state && !(isSuccess && this.#mayBeFailing)
    if (isSame && detail === this.#detail) return
    const isProgress = isSame && hasBrought !== null
    if (isProgress && performance.now() - this.#writtenAt < PROGRESS_INTERVAL_MS) return
    this.#detail = detail
    this.#writtenAt = performance.now()
    const stored = await recordRuntime(this.#db, this.#owned, this.#kind, {
      state,
      detail: detail?.slice(0, DETAIL_CHARACTERS_MAX) ?? null,
      isSuccess,
    })
    this.#state = stored ?? state
    if (isSuccess) this.#mayBeFailing = false
    if (state === 'backoff') this.#mayBeFailing = true
    if (this.#state === 'live' && !this.#isKnownLive) this.#log.info('The account is live')
    this.#isKnownLive = (this.#isKnownLive || this.#state === 'live') && state !== 'backoff'
  }
}
