import type { Kysely } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import type { Logger } from '../../kit/log.ts'
import type { MailProvider, Notice } from '../../providers/mail.ts'
import { bringArrivals } from './bring-arrivals.ts'
import { compareSource } from './compare-source.ts'
import { type Doubts, SECOND_LOOK_SECONDS } from './doubts.ts'
import type { ConnectionPermit } from '../../connections/connections.ts'
import type { LookTimes } from './look-times.ts'
import { type Nudge, pause } from '../../jobs/nudge.ts'
import { type OwnedAccount, takeWanted } from '../ownership.ts'
import { type PassOutcome, runPass } from './pass.ts'
import type { RuntimeReport } from '../report.ts'
import type { FollowedSource } from '../../features/mail/messages/rules.ts'
import { ChangedMeanwhile, MailboxUnlisted, type Session } from './session.ts'
import type { StallWatch } from '../stall-watch.ts'
import type { TableStatistics } from './table-statistics.ts'
import type { Place, Turns } from '../turns.ts'

const DAY_MS = 86_400_000
/** The pause after a pass that did not get to its end and brought nothing. */
const FRUITLESS_PAUSE_MS = 5_000

export interface FollowMailOptions {
  db: Kysely<Tables>
  owned: OwnedAccount
  provider: MailProvider
  syncWindowDays: number | null
  stall: StallWatch
  permit: ConnectionPermit
  turns: Turns
  place: Place
  nudge: Nudge
  report: RuntimeReport
  statistics: TableStatistics
  doubts: Doubts
  looks: LookTimes
  pollSeconds: number
  log: Logger
  onCaughtUp(): void
  onMail(): void
}

/**
 * Follows the mail of an account over one connection, until the connection breaks or is wanted elsewhere.
 * @returns whether older mail was still to come then
 */
export async function followMail(options: FollowMailOptions): Promise<'caught_up' | 'more'> {
  const { permit, stall, nudge, onCaughtUp } = options
  for (;;) {
    nudge.clear()
    // This clears the request for a restart, so the engine does not see it: it is handled here.
    const { wanted, isInitialized } = await takeWanted(options.db, options.owned)
    if (wanted.includes('restart')) return 'more'
    const session = openSession(options, isInitialized)
    const { hasMore, inbox, unreadable } = await pass(session, options)
    stall.signal.throwIfAborted()
    if (!hasMore) {
      onCaughtUp()
      await reportLive(session, unreadable, options)
    }
    if (permit.isWanted) return hasMore ? 'more' : 'caught_up'
    if (!hasMore && (await watchUntilNextPass(session, inbox, options)) === 'permit_wanted')
      return 'caught_up'
  }
}

function openSession(options: FollowMailOptions, isInitialized: boolean): Session {
  const { db, owned, provider, syncWindowDays, stall, doubts, looks, onMail, log } = options
  return {
    db,
    owned,
    provider,
    isInitialized,
    since: syncWindowDays === null ? null : new Date(Date.now() - syncWindowDays * DAY_MS),
    signal: stall.signal,
    progressed: () => stall.progressed(),
    hasMail: onMail,
    doubts,
    looks,
    mailboxes: new Map(),
    unlisted: new Set(),
    log,
  }
}

async function pass(session: Session, options: FollowMailOptions): Promise<PassOutcome> {
  const { report, turns, place, stall, statistics, pollSeconds } = options
  let brought = 0
  let hasTurn = true
  if (!session.isInitialized) await report.tell('syncing', 'reading the mailboxes for the first time')
  const outcome = await runPass(session, {
    async takeTurn() {
      // New mail waits meanwhile, and other accounts may wait for the connection, so not beyond the next pass.
      stall.allow(pollSeconds)
      const turn = await turns.take(place, pollSeconds * 1_000, stall.signal)
      hasTurn = turn !== null
      if (!hasTurn) await report.tell('syncing', 'waits for its turn to read older mail')
      return turn
    },
    onBackfill: async (count, remaining) => {
      brought += count
      statistics.inserted(count)
      await report.tell(
        'syncing',
        `about ${remaining} older messages of the mailbox at hand are still to come`,
        { hasBrought: count > 0 },
      )
    },
  })
  if (outcome.hasMore && brought === 0 && hasTurn) await pause(FRUITLESS_PAUSE_MS, stall.signal)
  return outcome
}

async function reportLive(
  session: Session,
  unreadable: number,
  { report, provider, pollSeconds }: FollowMailOptions,
): Promise<void> {
  const push = provider.isPushed ? 'the inbox is watched' : 'the inbox is polled'
  const facts = [push, `every mailbox is looked at within ${pollSeconds} s`]
  if (unreadable > 0) facts.push(`${unreadable} messages could not be read and are tried again`)
  const leftOut = provider.mailboxesLeftOut
  if (leftOut > 0)
    facts.push(
      `${leftOut} ${leftOut === 1 ? 'mailbox' : 'mailboxes'} could not be taken in: too many, too large, or with names too long`,
    )
  if (session.doubts.count > 0)
    facts.push(
      `${session.doubts.count} mailboxes seem to have been emptied, and are asked until that is sure`,
    )
  await report.tell('live', facts.join('; '))
}

/** Reads at once what the watched inbox reports, until a pass over all mailboxes is due. */
async function watchUntilNextPass(
  session: Session,
  inbox: FollowedSource | null,
  { provider, pollSeconds, stall, permit, nudge }: FollowMailOptions,
): Promise<'pass_due' | 'permit_wanted'> {
  const untilPass = session.doubts.count > 0 ? Math.min(pollSeconds, SECOND_LOOK_SECONDS) : pollSeconds
  const dueAt = performance.now() + untilPass * 1_000
  permit.onWanted(() => nudge.fire())
  for (;;) {
    const seconds = (dueAt - performance.now()) / 1_000
    if (permit.isWanted) return 'permit_wanted'
    if (seconds <= 0 || nudge.signal.aborted) return 'pass_due'
    stall.allow(seconds)
    if (!inbox) {
      await pause(seconds * 1_000, nudge.signal, stall.signal)
      stall.signal.throwIfAborted()
      continue
    }
    const notice = await provider.watch(inbox.source, seconds, AbortSignal.any([stall.signal, nudge.signal]))
    stall.signal.throwIfAborted()
    // A message that left the inbox may be in any mailbox, so all are looked at.
    if (notice.gone || !(await readInbox(session, inbox, notice))) return 'pass_due'
  }
}

/** @returns false if only a pass can read it, since the account was changed meanwhile */
async function readInbox(session: Session, inbox: FollowedSource, notice: Notice): Promise<boolean> {
  try {
    if (notice.arrived) await bringArrivals(session, inbox, { onlyNew: true })
    if (notice.changed) await compareSource(session, inbox)
    return true
  } catch (error) {
    if (error instanceof ChangedMeanwhile || error instanceof MailboxUnlisted) return false
    throw error
  }
}
