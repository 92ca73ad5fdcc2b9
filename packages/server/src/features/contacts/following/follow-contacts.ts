import { takeWanted } from '../../../accounts/halves/wanted.ts'
import type { Db } from '../../../database/pool.ts'
import { Nudge, pause } from '../../../processes/nudge.ts'
import type { ContactsProvider } from '../../../providers/contacts.ts'
import type { BulkPermit, BulkRequest } from '../../../sync/bulk-permits.ts'
import { type Doubts, SECOND_LOOK_SECONDS } from '../../../sync/doubts.ts'
import type { Follow, FollowedConnection } from '../../../sync/follower.ts'
import { findPause } from '../../../sync/pause.ts'
import { untilPhaseSeconds } from '../../../sync/phase.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { type PassOptions, runPass } from './pass.ts'
import { countQuarantined } from './quarantine.ts'
import type { Session } from './session.ts'

/** The pause after a pass that did not get to its end and brought nothing. */
const FRUITLESS_PAUSE_SECONDS = 5

export interface FollowContactsOptions extends Omit<FollowedConnection, 'connected'> {
  db: Db
  provider: ContactsProvider
  bulkRequest: BulkRequest
  doubts: Doubts
  /** The time between two looks, if nothing asks for one. */
  lookSeconds: number
}

/** As `Follow`: over one connection, until it breaks or is wanted elsewhere. */
export async function followContacts(options: FollowContactsOptions): ReturnType<Follow> {
  const { db, owned, permit, nudge, notice, stall, onProgress } = options
  const wanted = new Nudge()
  permit.onWanted(() => wanted.fire())
  for (;;) {
    nudge.clear()
    notice.clear()
    // This clears the request for a restart, so the engine does not see it: it is handled here.
    const request = await takeWanted(db, owned, 'contacts')
    if (request.wanted.includes('restart')) return 'more'
    // A change of the plan wakes nobody. The runner lets the half rest.
    if (!(await findModule(db, owned.tenantId, 'contacts'))) return 'more'
    await options.provider.keepNotifying?.(stall.signal)
    const { waitSeconds, isThrough } = await lookOnce(openSession(options, request.isInitialized), options)
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
async function lookOnce(
  session: Session,
  options: FollowContactsOptions,
): Promise<{ waitSeconds: number; isThrough: boolean }> {
  const { report, lookSeconds, owned } = options
  if (!session.isInitialized && report.state !== 'syncing')
    await report.tell('syncing', 'reading the contacts for the first time')
  try {
    let mayBeFruitless = true
    const onFruit = () => void (mayBeFruitless = false)
    const { hasMore } = await runPass(session, passOptions(options, onFruit))
    if (hasMore) return { waitSeconds: mayBeFruitless ? FRUITLESS_PAUSE_SECONDS : 0, isThrough: false }
  } catch (error) {
    const found = findPause(error, options)
    if (!found) throw error
    await report.tell('syncing', `reading contacts; waits ${found.seconds} s ${found.reason}`)
    return { waitSeconds: found.seconds, isThrough: false }
  }
  await reportCaughtUp(session, options)
  const seconds = untilPhaseSeconds(owned.id, lookSeconds)
  const waitSeconds = session.doubts.count > 0 ? Math.min(seconds, SECOND_LOOK_SECONDS) : seconds
  return { waitSeconds, isThrough: true }
}

/** @param onFruit called when contacts were brought, or others had their turn meanwhile */
function passOptions(options: FollowContactsOptions, onFruit: () => void): PassOptions {
  const { report, bulkPermits, bulkRequest, stall, pollSeconds, onProgress, log } = options
  return {
    onDiffering(folderId, count) {
      log.warn({ folder: folderId, count }, 'The index of contacts differed from the provider')
    },
    async acquireBulkPermit(): Promise<BulkPermit | null> {
      stall.allow(pollSeconds)
      const permit = await bulkPermits.acquire(bulkRequest, pollSeconds * 1_000, stall.signal)
      if (permit) return permit
      onFruit()
      await report.tell('syncing', 'waits for its turn to read contacts')
      return null
    },
    async onRead(contacts, remaining) {
      if (contacts > 0) {
        onFruit()
        onProgress()
      }
      const rest = remaining === null ? 'more contacts' : `about ${remaining} contacts`
      await report.tell('syncing', `${rest} of the folder at hand are still to come`, {
        hasBrought: contacts > 0,
      })
    },
  }
}

async function reportCaughtUp(session: Session, options: FollowContactsOptions): Promise<void> {
  const { db, owned, doubts } = session
  const facts = [`contacts are looked at every ${options.lookSeconds} s`]
  const unreadable = await countQuarantined(db, owned.id)
  if (unreadable > 0) facts.push(`${unreadable} contacts could not be read`)
  if (doubts.count > 0)
    facts.push(`${doubts.count} folders seem to be gone, and are asked for until that is sure`)
  await options.report.tell('live', facts.join('; '))
}

function openSession(options: FollowContactsOptions, isInitialized: boolean): Session {
  const { db, owned, provider, stall, doubts } = options
  return {
    db,
    owned,
    provider,
    isInitialized,
    signal: stall.signal,
    progressed: () => stall.progressed(),
    allow: seconds => stall.allow(seconds),
    doubts,
  }
}
