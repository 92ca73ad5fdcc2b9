import { takeWanted } from '../../accounts/halves/wanted.ts'
import type { HalfKind } from '../../accounts/halves/kind.ts'
import type { Db } from '../../database/pool.ts'
import { Nudge, pause } from '../../processes/nudge.ts'
import type { BulkPermit, BulkRequest } from '../bulk-permits.ts'
import { type Doubts, SECOND_LOOK_SECONDS } from '../doubts.ts'
import type { Follow, FollowedConnection } from '../follower.ts'
import { findPause } from '../pause.ts'
import { untilPhaseSeconds } from '../phase.ts'
import type { PassOptions } from './follow-changed.ts'
import type { LookSession } from './session.ts'

/** The pause after a pass that did not get to its end and brought nothing. */
const FRUITLESS_PAUSE_SECONDS = 5

/** A kind of data that is followed by looks, each of which is a pass over all sources. */
export interface LookedAt<Provider> {
  kind: HalfKind
  /** Nouns for reports: the data, such as `calendars`; its items; and one source of them. */
  nouns: { data: string; items: string; source: string }
  /** Whether the plan of a tenant includes the data. */
  isIncluded(tenantId: string): Promise<boolean>
  keepNotifying?(provider: Provider, signal: AbortSignal): Promise<void>
  /** Makes one pass. Returns whether items are still to come. */
  runPass(session: LookSession<Provider>, options: PassOptions): Promise<{ hasMore: boolean }>
  /** Counts items of an account that cannot be read. */
  countQuarantined(accountId: string): Promise<number>
}

export interface FollowByLooksOptions<Provider> extends Omit<FollowedConnection, 'connected'> {
  db: Db
  provider: Provider
  lookedAt: LookedAt<Provider>
  bulkRequest: BulkRequest
  doubts: Doubts
  /** The time between two looks, if nothing asks for one. */
  lookSeconds: number
}

/** As `Follow`: over one connection, until it breaks or is wanted elsewhere. */
export async function followByLooks<Provider>(options: FollowByLooksOptions<Provider>): ReturnType<Follow> {
  const { db, owned, provider, lookedAt, permit, nudge, notice, stall, onProgress } = options
  const wanted = new Nudge()
  permit.onWanted(() => wanted.fire())
  for (;;) {
    nudge.clear()
    // The mark of a push is taken from the half before its runner is told.
    const isNoticed = notice.signal.aborted
    notice.clear()
    // This clears the request for a restart, so the engine does not see it: it is handled here.
    const request = await takeWanted(db, owned, lookedAt.kind)
    if (request.wanted.includes('restart')) return 'more'
    // A change of the plan wakes nobody. The runner lets the half rest.
    if (!(await lookedAt.isIncluded(owned.tenantId))) return 'more'
    await lookedAt.keepNotifying?.(provider, stall.signal)
    const { waitSeconds, isThrough } = await lookOnce(openSession(options, request, isNoticed), options)
    stall.signal.throwIfAborted()
    if (waitSeconds === 0) {
      if (permit.isWanted) return 'more'
      continue
    }
    // Not after a pause that the server asked for: it may still refuse the login.
    if (isThrough) onProgress()
    if (permit.isWanted) return 'caught_up'
    stall.allow(waitSeconds)
    await pause(waitSeconds * 1_000, nudge.signal, notice.signal, wanted.signal, stall.signal)
    stall.signal.throwIfAborted()
  }
}

/**
 * Makes one pass and reports it.
 * @returns the seconds until the next one is due, and whether this one came to its end
 */
async function lookOnce<Provider>(
  session: LookSession<Provider>,
  options: FollowByLooksOptions<Provider>,
): Promise<{ waitSeconds: number; isThrough: boolean }> {
  const { report, lookSeconds, owned, lookedAt } = options
  const { data } = lookedAt.nouns
  if (!session.isInitialized && report.state !== 'syncing')
    await report.tell('syncing', `reading the ${data} for the first time`)
  try {
    let mayBeFruitless = true
    const onFruit = () => void (mayBeFruitless = false)
    const { hasMore } = await lookedAt.runPass(session, passOptions(options, onFruit))
    if (hasMore) return { waitSeconds: mayBeFruitless ? FRUITLESS_PAUSE_SECONDS : 0, isThrough: false }
  } catch (error) {
    const found = findPause(error, options)
    if (!found) throw error
    await report.tell('syncing', `reading ${data}; waits ${found.seconds} s ${found.reason}`)
    return { waitSeconds: found.seconds, isThrough: false }
  }
  await reportCaughtUp(session, options)
  const seconds = untilPhaseSeconds(owned.id, lookSeconds)
  const waitSeconds = session.doubts.count > 0 ? Math.min(seconds, SECOND_LOOK_SECONDS) : seconds
  return { waitSeconds, isThrough: true }
}

/** @param onFruit called when items were brought, or others had their turn meanwhile */
function passOptions<Provider>(options: FollowByLooksOptions<Provider>, onFruit: () => void): PassOptions {
  const { report, bulkPermits, bulkRequest, stall, pollSeconds, onProgress, log, lookedAt } = options
  const { data, items, source } = lookedAt.nouns
  return {
    onDiffering(sourceId, count) {
      log.warn({ [source]: sourceId, count }, `The index of ${data} differed from the provider`)
    },
    async acquireBulkPermit(): Promise<BulkPermit | null> {
      stall.allow(pollSeconds)
      const permit = await bulkPermits.acquire(bulkRequest, pollSeconds * 1_000, stall.signal)
      if (permit) return permit
      onFruit()
      await report.tell('syncing', `waits for its turn to read ${data}`)
      return null
    },
    async onRead(count, remaining) {
      if (count > 0) {
        onFruit()
        onProgress()
      }
      const rest = remaining === null ? `more ${items}` : `about ${remaining} ${items}`
      await report.tell('syncing', `${rest} of the ${source} at hand are still to come`, {
        hasBrought: count > 0,
      })
    },
  }
}

async function reportCaughtUp<Provider>(
  { owned, doubts }: LookSession<Provider>,
  { lookSeconds, lookedAt, report }: FollowByLooksOptions<Provider>,
): Promise<void> {
  const { data, items, source } = lookedAt.nouns
  const facts = [`${data} are looked at every ${lookSeconds} s`]
  const unreadable = await lookedAt.countQuarantined(owned.id)
  if (unreadable > 0) facts.push(`${unreadable} ${items} could not be read`)
  if (doubts.count > 0)
    facts.push(`${doubts.count} ${source}s seem to be gone, and are asked for until that is sure`)
  await report.tell('live', facts.join('; '))
}

function openSession<Provider>(
  options: FollowByLooksOptions<Provider>,
  { isInitialized, wanted }: Awaited<ReturnType<typeof takeWanted>>,
  isNoticed: boolean,
): LookSession<Provider> {
  const { db, owned, provider, stall, doubts } = options
  return {
    db,
    owned,
    provider,
    isInitialized,
    isAsked: isNoticed || wanted.length > 0,
    signal: stall.signal,
    progressed: () => stall.progressed(),
    allow: seconds => stall.allow(seconds),
    doubts,
  }
}
