import type { UnitOfWork } from '../../../../events/unit-of-work.ts'
import { postponeComparisons, recordComparisons, scheduleComparisons } from '../../comparisons/record.ts'
import { findSchedule } from '../../comparisons/store.ts'
import { recordChangedKeys } from '../../messages/record-changed-keys.ts'
import { markMissing, missUnplaced } from '../../messages/record-missing.ts'
import { recordSuspicion } from '../../messages/record-suspicion.ts'
import type { FollowedSource, MailAccount } from '../../messages/rules.ts'
import { ProviderFailure } from '../../../../providers/failure.ts'
import type { MessageKey } from '../../../../providers/mail.ts'
import { recordDiffering } from '../../comparisons/differences.ts'
import { FenceLost } from '../../../../accounts/halves/ownership.ts'
import { type BulkPermit, type BulkPermits, BulkRequest } from '../../../../sync/bulk-permits.ts'
import { findPause, type Pause } from '../../../../sync/pause.ts'
import { requestFetch } from '../quarantine.ts'
import { ChangedMeanwhile, MailboxUnlisted, type Session, underFence } from '../session.ts'
import { clearSuspicion, dropCursor, listSuspected } from '../source-store.ts'
import { CANDIDATES_MAX, Comparison } from './comparison.ts'
import { type Passed, PassUnfinished, type Settled, settleCandidates } from './settle.ts'

/** New mail waits while a comparison reads; after this time an ordinary pass comes first. */
const SLICE_MS = 10_000
/** Comparisons share the permits of accounts that read older mail, and wait no longer than this for one. */
const PERMIT_WAIT_MS = 5_000
/** New mail is looked for meanwhile. The place in the line is kept. */
const PERMIT_PAUSE: Pause = { seconds: 20, reason: 'for its turn' }
/** Comparisons of a mailbox in a row that may contradict themselves before it is left alone for a while. */
const CONTRADICTED_MAX = 3
/** Failures in a row, each of which may come from a connection, after which a comparison is given up. */
const FAILURES_MAX = 3
/** Passes without a pause that may break off while a comparison is settled, after which it is given up. */
const UNFINISHED_MAX = 5
/** A source that could not be compared is compared again after this time. */
const POSTPONED_SECONDS = 3_600

/** A source is not compared more often than this because its numbers are under suspicion: a server may rewind them often. */
const EXAMINED_SECONDS = 3_600

/** The next step: another pass, at once or after a pause, or none until a source is due. */
export interface Next {
  mustPass: boolean
  pause: Pause | null
}

export interface VerificationOptions {
  bulkPermits: BulkPermits
  /** Makes an ordinary pass, which reads older mail under this permit. */
  pass(permit: BulkPermit): Promise<Passed>
  /** Whether another account waits for the connection. */
  mustStop(): boolean
}

/**
 * Compares the sources of one account with the index when they are due, one after the other, between ordinary passes.
 * The part of a source that it has read is kept from one connection to the next.
 */
export class Verification {
  #request: BulkRequest | null = null
  /** Time at which each source is due, by this process's monotonic clock; null: not read yet. */
  #dueAt: Map<string, number> | null = null
  #current: Comparison | null = null
  /** Failures since the last page was read. */
  #failures = 0
  #unfinished = 0
  readonly #candidatesMax: number
  /** Contradictions in the last comparison, if there were any. */
  #contradicted: { source: string; keys: ReadonlySet<MessageKey>; times: number } | null = null
  /** Time of the last try to compare sources under suspicion, by the same clock. */
  readonly #examinedAt = new Map<string, number>()
  /** Differences that are not repaired yet. */
  openCount = 0

  /** @param options.candidatesMax how many differences of a comparison are repaired at once */
  constructor({ candidatesMax = CANDIDATES_MAX }: { candidatesMax?: number } = {}) {
    this.#candidatesMax = candidatesMax
  }

  /** Reads the schedule again, since a comparison may have been requested. */
  forgetSchedule(): void {
    this.#dueAt = null
  }

  /** Begins again with the sources that came under suspicion meanwhile. */
  suspect(): void {
    this.#dueAt = null
    this.#current = null
  }

  /**
   * Reads one slice of a source that is due. Call it after a complete pass.
   * @returns whether a pass must follow: there is more to do, or to report, since nothing differs any more
   */
  async proceed(
    session: Session,
    sources: readonly FollowedSource[],
    options: VerificationOptions,
  ): Promise<Next> {
    const openBefore = this.openCount
    const next = await this.#proceed(session, sources, options)
    return openBefore > 0 && this.openCount === 0 ? { mustPass: true, pause: null } : next
  }

  async #proceed(
    session: Session,
    sources: readonly FollowedSource[],
    options: VerificationOptions,
  ): Promise<Next> {
    const nothing = { mustPass: false, pause: null }
    if (!session.isInitialized || session.doubts.count > 0) return nothing
    const followed = await this.#findDue(session, sources)
    if (!followed) return nothing
    this.#request ??= new BulkRequest(session.owned.tenantId)
    using permit = await options.bulkPermits.acquire(this.#request, PERMIT_WAIT_MS, session.signal)
    if (!permit) return { mustPass: true, pause: PERMIT_PAUSE }
    if (this.#current?.followed.source !== followed.source) {
      const { differencesMax = CANDIDATES_MAX } = session.provider
      this.#current = new Comparison(followed, Math.min(this.#candidatesMax, differencesMax))
      this.#failures = 0
      this.#unfinished = 0
    }
    try {
      await this.#compare(session, this.#current, permit, options)
    } catch (error) {
      // The part that was read is kept, and settled after a complete pass.
      if (error instanceof PassUnfinished && (error.pause || ++this.#unfinished < UNFINISHED_MAX))
        return { mustPass: true, pause: error.pause }
      if (error instanceof FenceLost || findPause(error, session)) throw error
      const isOfConnection = session.signal.aborted || isTransient(error)
      // The next connection continues with the part that was read.
      if (isOfConnection && ++this.#failures < FAILURES_MAX) throw error
      this.#current = null
      // A comparison that always fails must not keep the account from being followed.
      await this.#postpone(session, followed, { isDoubtful: false })
      if (!isOutdated(error)) throw error
    }
    return { mustPass: (await this.#findDue(session, sources)) !== null, pause: null }
  }

  async #findDue(session: Session, sources: readonly FollowedSource[]): Promise<FollowedSource | null> {
    const known = this.#dueAt
    // The differences of a mailbox that is gone do not count any more.
    const isGone = known !== null && known.size > sources.length
    if (!known || isGone || sources.some(({ source }) => !known.has(source)))
      await this.#schedule(session, sources, { isGone })
    const current = sources.find(({ source }) => source === this.#current?.followed.source)
    if (current) return current
    const now = performance.now()
    const due = sources
      .map(followed => ({ followed, at: this.#dueAt?.get(followed.source) ?? Number.POSITIVE_INFINITY }))
      .filter(({ at }) => at <= now)
      .toSorted((a, b) => a.at - b.at)
    return due[0]?.followed ?? null
  }

  async #schedule(
    session: Session,
    sources: readonly FollowedSource[],
    { isGone }: { isGone: boolean },
  ): Promise<void> {
    const { db, owned } = session
    const known = await findSchedule(db, owned.id)
    const isStale = known.differs !== known.openCount > 0
    if (isStale || isGone || sources.some(({ source }) => !known.dueIn.has(source))) {
      await underFence(session, async (unit, account) => {
        await scheduleComparisons(unit, account.id)
        await recordDiffering(unit, account.id)
      })
    }
    const { dueIn, openCount } = await findSchedule(db, owned.id)
    const now = performance.now()
    this.openCount = openCount
    this.#dueAt = new Map([...dueIn].map(([source, seconds]) => [source, now + seconds * 1_000]))
    for (const source of (await listSuspected(db, owned.id)).keys()) {
      const soonestAt = (this.#examinedAt.get(source) ?? -Infinity) + EXAMINED_SECONDS * 1_000
      const dueAt = this.#dueAt.get(source)
      if (dueAt !== undefined) this.#dueAt.set(source, Math.min(dueAt, Math.max(now, soonestAt)))
    }
  }

  async #compare(
    session: Session,
    comparison: Comparison,
    permit: BulkPermit,
    { pass, mustStop }: VerificationOptions,
  ): Promise<void> {
    const until = performance.now() + SLICE_MS
    while (await comparison.readPage(session)) {
      this.#failures = 0
      if (performance.now() > until || mustStop()) return
    }
    const settled = await settleCandidates(session, comparison, () => pass(permit))
    this.#current = null
    const { followed } = comparison
    if (!settled) return this.#postpone(session, followed, { isDoubtful: false })
    if (settled.contradicted.length > 0) return this.#hesitate(session, followed, settled.contradicted)
    this.#contradicted = null
    await this.#record(session, comparison, settled)
  }

  /** Once, a message may have come or gone while the listing was read. Twice, the provider lies. */
  async #hesitate(session: Session, followed: FollowedSource, keys: readonly MessageKey[]): Promise<void> {
    const { source } = followed
    const earlier = this.#contradicted?.source === source ? this.#contradicted : null
    const times = (earlier?.times ?? 0) + 1
    const isDoubtful = keys.some(key => earlier?.keys.has(key))
    const isLeft = isDoubtful || times === CONTRADICTED_MAX
    this.#contradicted = isLeft ? null : { source, keys: new Set(keys), times }
    if (isLeft) await this.#postpone(session, followed, { isDoubtful })
  }

  /** Records the counts, and marks the differences, so that the next pass repairs them. */
  async #record(session: Session, comparison: Comparison, settled: Settled): Promise<void> {
    const { followed, unplaced } = comparison
    const { source, mailboxes } = followed
    for (const [mailboxId, counts] of settled.counts) {
      if (mailboxId !== mailboxes[0]?.id) continue
      counts.indexed += unplaced.size
      counts.extra += unplaced.size
    }
    const isLacking = ({ here, there }: Settled['differences'][number]) => there !== null && here === null
    const unanswered = settled.unanswered.filter(message => message.isLacking)
    const lacking = [...settled.differences.filter(isLacking), ...unanswered].map(({ key }) => key)
    const differing = settled.differences.filter(difference => !isLacking(difference))
    let isSuspect = false
    const seconds = await underFence(session, async (unit, account) => {
      await markMissing(unit, account, followed, settled.others)
      await this.#recordLacking(unit, account, comparison, [...lacking, ...settled.others])
      await recordChangedKeys(
        unit,
        account.id,
        differing.map(({ key }) => ({ source, key })),
      )
      const { suspectedAt, isCapped } = comparison
      // The other sources come from the same backup, and this one fetched only the headers of messages that differed.
      if (suspectedAt === null && settled.others.length > 0) await recordSuspicion(unit, account.id)
      if (suspectedAt !== null && !isCapped) await clearSuspicion(unit, account.id, source, suspectedAt)
      isSuspect = (await listSuspected(unit.sql, account.id)).has(source)
      const isDoubtful = settled.unanswered.length > 0
      const again = { isDoubtful, secondsMax: isDoubtful ? POSTPONED_SECONDS : Infinity }
      const dueIn = await recordComparisons(unit, account.id, settled.counts, again)
      this.openCount = await recordDiffering(unit, account.id)
      return dueIn
    })
    this.#dueAt?.set(source, performance.now() + seconds * 1_000)
    if (comparison.suspectedAt !== null) this.#examinedAt.set(source, performance.now())
    if (isSuspect) this.#dueAt = null
    const count = settled.differences.length + settled.others.length + unplaced.size
    if (count > 0)
      session.log.warn({ mailboxId: mailboxes[0]?.id, count }, 'The index differed from the provider')
  }

  /**
   * Lets the next pass fetch the messages that the index lacks, and recognise among them the ones that lost their
   * locations.
   */
  async #recordLacking(
    unit: UnitOfWork,
    account: MailAccount,
    { followed, unplaced, isCapped }: Comparison,
    lacking: readonly MessageKey[],
  ): Promise<void> {
    if (unplaced.size === 0 && lacking.length === 0) return
    // A capped comparison has only some of the keys, so a message that these do not bring may still be there.
    const missed = await missUnplaced(unit, account, followed, isCapped ? null : [...unplaced])
    if (isCapped && missed > 0) return dropCursor(unit, account.id, followed.source)
    await requestFetch(unit, account.id, followed.source, lacking)
  }

  async #postpone(
    session: Session,
    { source, mailboxes }: FollowedSource,
    { isDoubtful }: { isDoubtful: boolean },
  ): Promise<void> {
    this.#dueAt?.set(source, performance.now() + POSTPONED_SECONDS * 1_000)
    this.#examinedAt.set(source, performance.now())
    const ids = mailboxes.map(({ id }) => id)
    await underFence(session, unit =>
      postponeComparisons(unit, ids, { seconds: POSTPONED_SECONDS, isDoubtful }),
    )
    if (isDoubtful)
      session.log.warn(
        { mailboxId: ids[0] },
        'The provider contradicts itself, so its mailbox cannot be compared',
      )
  }
}

/** Whether another connection may succeed. */
function isTransient(error: unknown): boolean {
  return error instanceof ProviderFailure && !error.isPermanent && error.kind !== 'conflict'
}

/** Whether the source or the account changes so that the comparison is void; the connection is well. */
function isOutdated(error: unknown): boolean {
  if (error instanceof PassUnfinished) return true
  if (error instanceof ChangedMeanwhile || error instanceof MailboxUnlisted) return true
  return error instanceof ProviderFailure && (error.kind === 'not_found' || error.kind === 'conflict')
}
