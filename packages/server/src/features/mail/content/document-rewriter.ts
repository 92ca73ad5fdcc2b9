import { runAlone } from '../../../database/alone.ts'
import { pause } from '../../../processes/nudge.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { MessageReader } from '../../../kit/mime/message-reader.ts'
import {
  countStaleAccounts,
  listStaleAccounts,
  markCurrent,
  type StaleAccount,
} from '../../../accounts/halves/search-version.ts'
import { rewriteAccountBatch } from './rewrite-documents.ts'
import type { StoredContext } from './stored-source.ts'
import type { WalkPlace } from './walk.ts'

/** Interval of the search for stale accounts: a process of an earlier release may still write some. */
const LOOK_SECONDS = 60
/** Time for one account before all others had as long. */
const TURN_SECONDS = 5
const ACCOUNTS_LISTED_MAX = 100
/** Seconds until unreadable bodies are tried again. */
const RETRY_SECONDS = 300
/** A body that could not be read for this long keeps the words that it has in the index. */
const KEEP_AFTER_SECONDS = 3600

export interface RewriterContext extends StoredContext {
  /** Separate from the reader of the API, so that callers do not wait for documents that are being rewritten. */
  reader: MessageReader
  clock: Clock
  /** Called with the number of rewritten documents. */
  onRewritten(count: number): void
}

/** Progress of one account. Kept in memory only: the stale documents show where to continue. */
interface Progress {
  below: WalkPlace | null
  /** The numbers of stale documents that this walk found, and that it wrote. */
  found: number
  written: number
  /**
   * Time of the first walk that wrote nothing, since no body that is left can be read; null if the last walk wrote
   * some.
   */
  stuckAt: number | null
  /** Time at which the last walk ended that wrote nothing. */
  retriedAt: number | null
}

/**
 * Rewrites the documents of accounts whose `search_version` is not this release's, in batches, newest first,
 * alternating between accounts. Runs in one process of the installation at a time. An account is current after a walk
 * through all of its messages that found no stale document.
 */
export class DocumentRewriter implements AsyncDisposable {
  readonly #context: RewriterContext
  readonly #progress = new Map<string, Progress>()
  readonly #loop: WokenLoop

  constructor(context: RewriterContext) {
    this.#context = context
    const { log } = context
    const look = (signal: AbortSignal) => this.#look(signal)
    this.#loop = new WokenLoop({ look, failure: 'Search documents cannot be rewritten', log })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loop[Symbol.asyncDispose]()
  }

  async #look(signal: AbortSignal): Promise<number> {
    await runAlone(this.#context.db, 'rewrite_documents', () => this.#rewriteAll(signal))
    return LOOK_SECONDS
  }

  /** Rewrites until no account is left, or only accounts that must wait. */
  async #rewriteAll(signal: AbortSignal): Promise<void> {
    const { db, log } = this.#context
    const [first] = await listStaleAccounts(db, null, 1)
    if (!first) return this.#progress.clear()
    const startedAt = performance.now()
    let isLogged = false
    // Documents that are merely tried again are not worth a line.
    const logStart = async () => {
      if (isLogged) return
      isLogged = true
      log.info({ count: await countStaleAccounts(db) }, 'Rewriting the search documents of accounts')
    }
    let documents = 0
    for (;;) {
      const { turns, written } = await this.#giveTurns(logStart, signal)
      documents += written
      if (signal.aborted || turns === 0) break
    }
    if (!isLogged && documents === 0) return
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    const left = await countStaleAccounts(db)
    log.info({ count: documents, seconds }, 'Rewrote search documents')
    if (left > 0) log.warn({ count: left }, 'Accounts have search documents that are not rewritten yet')
  }

  /** Works on each stale account for a while. */
  async #giveTurns(
    logStart: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<{ turns: number; written: number }> {
    let turns = 0
    let written = 0
    let last: StaleAccount | null = null
    while (!signal.aborted) {
      const accounts: StaleAccount[] = await listStaleAccounts(this.#context.db, last, ACCOUNTS_LISTED_MAX)
      if (accounts.length === 0) break
      for (const account of accounts) {
        last = account
        const progress = this.#progress.get(account.id) ?? beginning()
        if (signal.aborted || this.#isWaiting(progress)) continue
        this.#progress.set(account.id, progress)
        if (progress.stuckAt === null) await logStart()
        turns++
        written += await this.#takeTurn(account, progress, signal)
      }
    }
    return { turns, written }
  }

  #isWaiting({ retriedAt }: Progress): boolean {
    if (retriedAt === null) return false
    const passed = this.#context.clock.now() - retriedAt
    // A clock that was set back must not hold it up.
    return passed >= 0 && passed < RETRY_SECONDS * 1000
  }

  async #takeTurn(account: StaleAccount, progress: Progress, signal: AbortSignal): Promise<number> {
    let written = 0
    const until = performance.now() + TURN_SECONDS * 1000
    const { stuckAt } = progress
    const keepsUnread = stuckAt !== null && this.#context.clock.now() - stuckAt >= KEEP_AFTER_SECONDS * 1000
    while (!signal.aborted && performance.now() < until) {
      const startedAt = performance.now()
      const batch = await rewriteAccountBatch(this.#context, account, {
        below: progress.below,
        keepsUnread,
      })
      this.#context.onRewritten(batch.written)
      written += batch.written
      progress.found += batch.found
      progress.written += batch.written
      progress.below = batch.end
      if (batch.end === null && (await this.#endWalk(account, progress))) break
      // Pauses for as long as the batch took, so that requests always find half of the time free.
      await pause(performance.now() - startedAt, signal)
    }
    return written
  }

  /** @returns whether the account has nothing more to do now */
  async #endWalk({ id, tenant_id: tenantId }: StaleAccount, progress: Progress): Promise<boolean> {
    const { db, log, clock } = this.#context
    if (progress.found === 0) {
      await markCurrent(db, id)
      this.#progress.delete(id)
      log.debug({ accountId: id, tenantId }, 'The search documents of the account are rewritten')
      return true
    }
    const isStuck = progress.written === 0
    const now = clock.now()
    const stuck = isStuck ? { stuckAt: progress.stuckAt ?? now, retriedAt: now } : {}
    Object.assign(progress, beginning(), stuck)
    return isStuck
  }
}

function beginning(): Progress {
  return { below: null, found: 0, written: 0, stuckAt: null, retriedAt: null }
}
