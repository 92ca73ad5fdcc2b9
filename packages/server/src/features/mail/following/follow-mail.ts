import type { FollowMailOptions } from './follow-options.ts'
import type { Remaining } from './bring-arrivals.ts'
import { SECOND_LOOK_SECONDS } from '../../../sync/doubts.ts'
import { pause } from '../../../processes/nudge.ts'
import type { Follow } from '../../../sync/follower.ts'
import { type PassOutcome, runPass } from './pass.ts'
import { findPause, type Pause } from '../../../sync/pause.ts'
import { untilPhaseSeconds } from '../../../sync/phase.ts'
import { beginPass, type PassStart, readStart } from './pass-start.ts'
import { RENEWAL } from '../../../accounts/halves/wanted.ts'
import type { FollowedSource } from '../messages/rules.ts'
import type { Session } from './session.ts'
import type { BulkPermit } from '../../../sync/bulk-permits.ts'
import type { Next } from './verification/verification.ts'
import { passSeconds, reportCaughtUp } from './report-caught-up.ts'
import { readPushed, watchInbox } from './watch-inbox.ts'

const DAY_MS = 86_400_000
/** The pause after a pass that did not get to its end and brought nothing. */
const FRUITLESS_PAUSE_MS = 5_000
/** Neither the clock nor news of other mailboxes cause a pass more often than this. */
const PASS_INTERVAL_SECONDS_MIN = 1
/** The least ratio of the time until the next pass to the time of a pass, which matters in large accounts. */
const PAUSE_FACTOR = 9

type Given = Awaited<ReturnType<Follow>>

/** As `Follow`: over one connection, until it breaks, is wanted elsewhere or is due to be renewed. */
export async function followMail(options: FollowMailOptions): Promise<Given> {
  const { verification } = options
  verification.forgetSchedule()
  for (;;) {
    try {
      return await followUntilGivenUp(options)
    } catch (error) {
      const found = findPause(error, options)
      if (!found) throw error
      await waitOut(found, options)
    }
  }
}

async function followUntilGivenUp(options: FollowMailOptions): Promise<Given> {
  const { permit, nudge, provider, renewal } = options
  for (;;) {
    nudge.clear()
    const passed = await passAndVerify(options)
    if (!passed) return 'more'
    const { session, hasMore, next, mayWait, inbox, soonestSeconds } = passed
    const given = hasMore ? 'more' : 'caught_up'
    if (permit.isWanted) return given
    if (next.mustPass && !next.pause) continue
    if (hasMore && next.pause) await reportPause(next.pause, options)
    const untilPass = untilPassSeconds(session, { mayWait, soonestSeconds }, options)
    if (provider.isOutOfDate || session.doubts.needsAnother(provider)) renewal?.ask()
    // Neither a first sync nor a comparison is under way.
    const untilRenewal = () => (next.mustPass ? Infinity : (renewal?.untilDueSeconds() ?? Infinity))
    const seconds = Math.min(untilPass, next.pause?.seconds ?? Infinity, untilRenewal())
    const watched = { inbox, isComplete: !hasMore, untilPassSeconds: seconds, soonestSeconds }
    if ((await watchInbox(session, watched, options)) === 'permit_wanted') return given
    if (untilRenewal() === 0) return 'renewal_due'
  }
}

/** The part of a pass that is kept while its account is watched. Thousands of idle accounts keep it, so it is small. */
interface Passed {
  session: Session
  hasMore: boolean
  next: Next
  /** Whether nothing new was found, and there is an inbox to watch. */
  mayWait: boolean
  inbox: FollowedSource | null
  soonestSeconds: number
}

/** Runs one pass, then compares the sources that are due. @returns null if a restart of the sync was requested */
async function passAndVerify(options: FollowMailOptions): Promise<Passed | null> {
  const { stall, verification, onProgress } = options
  // This clears the request for a restart, so the engine does not see it: it is handled here.
  const { wanted, isInitialized, start } = await beginPass(options.db, options.owned)
  if (wanted.includes('restart')) return null
  if (wanted.includes('integrity')) verification.forgetSchedule()
  if (wanted.includes(RENEWAL)) options.renewal?.ask()
  const session = openSession(options, isInitialized)
  const begunAt = performance.now()
  const { hasMore, pause: paused, isQuiet, inbox, unreadable, sources } = await pass(session, start, options)
  const soonestSeconds = soonestPassSeconds(performance.now() - begunAt, options)
  stall.signal.throwIfAborted()
  let next: Next = { mustPass: hasMore, pause: paused }
  if (!hasMore) {
    onProgress()
    await reportCaughtUp(session, { sources, unreadable }, options)
    next = await verify(session, sources, options)
  }
  return { session, hasMore, next, mayWait: isQuiet && inbox !== null, inbox, soonestSeconds }
}

/** Waits without a permit, which others use meanwhile. New mail is looked for afterwards, before older mail goes on. */
async function waitOut(paused: Pause, options: FollowMailOptions): Promise<void> {
  const { stall, nudge, notice, pollSeconds } = options
  await reportPause(paused, options)
  const seconds = Math.min(paused.seconds, pollSeconds)
  stall.allow(seconds)
  await pause(seconds * 1_000, nudge.signal, notice.signal, stall.signal)
  notice.clear()
  stall.signal.throwIfAborted()
}

const WAITS = '; waits '

function reportPause({ seconds, reason }: Pause, { report }: FollowMailOptions): Promise<void> {
  const [detail = ''] = (report.detail ?? 'reading mail').split(WAITS)
  return report.tell('syncing', `${detail}${WAITS}${seconds} s ${reason}`)
}

function openSession(options: FollowMailOptions, isInitialized: boolean): Session {
  const { db, owned, provider, isOneAtATime, stall, doubts, looks, bodies, verification, log } = options
  const { syncWindowDays } = options
  return {
    db,
    owned,
    provider,
    isOneAtATime,
    isInitialized,
    since: syncWindowDays === null ? null : new Date(Date.now() - syncWindowDays * DAY_MS),
    signal: stall.signal,
    progressed: () => stall.progressed(),
    bodies,
    doubts,
    looks,
    onSuspicion: () => verification.suspect(),
    mailboxes: new Map(),
    unlisted: new Set(),
    log,
  }
}

/** @param held a permit that the caller has and gives back; another one is not waited for then */
async function pass(
  session: Session,
  start: PassStart,
  options: FollowMailOptions,
  held: BulkPermit | null = null,
): Promise<PassOutcome> {
  const { report, bulkPermits, bulkRequest, stall, notice, statistics, pollSeconds, onProgress } = options
  let brought = 0
  let hasPermit = true
  const isBegun = report.state === 'syncing'
  if (!session.isInitialized && !isBegun)
    await report.tell('syncing', 'reading the mailboxes for the first time')
  const outcome = await runPass(session, start, {
    async acquireBulkPermit() {
      if (held) return borrow(held)
      // New mail waits meanwhile, and other accounts may wait for the connection, so not beyond the next pass.
      stall.allow(pollSeconds)
      const ended = AbortSignal.any([stall.signal, notice.signal])
      const permit = await bulkPermits.acquire(bulkRequest, pollSeconds * 1_000, ended).catch(() => null)
      stall.signal.throwIfAborted()
      hasPermit = permit !== null
      if (!hasPermit && !notice.signal.aborted)
        await report.tell('syncing', 'waits for its turn to read older mail')
      return permit
    },
    onBackfill: async (count, remaining) => {
      brought += count
      statistics.inserted(count)
      if (count > 0) onProgress()
      await report.tell('syncing', describeRemaining(remaining), { hasBrought: count > 0 })
    },
    isNoticed: () => notice.signal.aborted,
    readNoticed: inbox => readPushed(session, inbox, notice),
  })
  const { hasMore, pause: paused } = outcome
  if (hasMore && brought === 0 && hasPermit && !paused) await pause(FRUITLESS_PAUSE_MS, stall.signal)
  return outcome
}

/** A permit that its owner gives back. */
const borrow = (permit: BulkPermit): BulkPermit => ({
  get isWanted() {
    return permit.isWanted
  },
  [Symbol.dispose]() {},
})

/** A nearer forecast is too uncertain to show. */
const FORECAST_SECONDS_MIN = 60

function describeRemaining({ messages, seconds }: Remaining): string {
  const rest = `about ${messages} older messages of the mailbox at hand are still to come`
  if (seconds < FORECAST_SECONDS_MIN) return rest
  const until = new Date(Date.now() + seconds * 1_000).toISOString().replace(/:\d\d\.\d+Z/, 'Z')
  return `${rest}, until ${until} at the earliest, as the provider's quota allows`
}

async function verify(
  session: Session,
  sources: readonly FollowedSource[],
  options: FollowMailOptions,
): Promise<Next> {
  const { bulkPermits, permit, verification } = options
  try {
    return await verification.proceed(session, sources, {
      bulkPermits,
      pass: async held => pass(session, await readStart(session.db, session.owned.id), options, held),
      mustStop: () => permit.isWanted,
    })
  } catch (error) {
    const found = findPause(error, options)
    if (!found) throw error
    return { mustPass: true, pause: found }
  }
}

/**
 * The time after which all mailboxes are looked at again.
 * @param mayWait whether the last pass found nothing new. If it did, changes while it went from mailbox to mailbox may
 *   not have been reported.
 */
function untilPassSeconds(
  { doubts }: Session,
  { mayWait, soonestSeconds }: { mayWait: boolean; soonestSeconds: number },
  options: FollowMailOptions,
): number {
  const { pollSeconds, owned, provider } = options
  const interval = provider.watchesAll && !mayWait ? pollSeconds : passSeconds(options)
  const seconds = Math.max(soonestSeconds, untilPhaseSeconds(owned.id, interval))
  return doubts.count > 0 ? Math.min(seconds, SECOND_LOOK_SECONDS) : seconds
}

/** The time before which neither the clock nor news of other mailboxes cause another pass. */
function soonestPassSeconds(passMs: number, { pollSeconds }: FollowMailOptions): number {
  return Math.min(pollSeconds, Math.max(PASS_INTERVAL_SECONDS_MIN, (passMs / 1_000) * PAUSE_FACTOR))
}
