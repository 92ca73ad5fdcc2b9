import type { ConnectionPermit } from '../../../connections/connections.ts'
import type { FollowedSource } from '../messages/rules.ts'
import { firstOf, type Nudge, pause } from '../../../processes/nudge.ts'
import type { Notice } from '../../../providers/mail.ts'
import type { StallWatch } from '../../../sync/stall-watch.ts'
import { bringArrivals } from './bring-arrivals.ts'
import { compareSource } from './compare-source.ts'
import { findGap } from './gap.ts'
import { ChangedMeanwhile, MailboxUnlisted, type Session } from './session.ts'
import { findCursor } from './source-store.ts'

/** Changes of flags come in series: they are compared at once, and then at most this often. */
const COMPARE_INTERVAL_MS = 200
/** A push without details stands for any change. */
const ANYTHING: Notice = { arrived: true, changed: true, gone: false }
/** If a push is about more sources than this, a pass reads them. */
const NOTICED_MAX = 20

interface Watching {
  stall: StallWatch
  permit: ConnectionPermit
  /** Fired when something else is wanted than to watch. */
  nudge: Nudge
  /** Fired when the provider has pushed that something happened. */
  notice: Nudge
  /** The usual time between two passes. */
  pollSeconds: number
  /** Called with the time from a notice to the commit of the announced change. */
  observeNotice(seconds: number): void
}

export interface WatchedInbox {
  /** Null if there is none: then only the time is waited for. */
  inbox: FollowedSource | null
  /** Whether it was read to its end. */
  isComplete: boolean
  untilPassSeconds: number
  /** The earliest time for a pass because of news of other mailboxes. */
  soonestSeconds: number
}

/** Reads changes at once that the watched inbox reports, until a pass over all mailboxes is due. */
export async function watchInbox(
  session: Session,
  { inbox, isComplete, untilPassSeconds, soonestSeconds }: WatchedInbox,
  watching: Watching,
): Promise<'pass_due' | 'permit_wanted'> {
  const { stall, permit, nudge, pollSeconds, observeNotice } = watching
  const soonestAt = performance.now() + soonestSeconds * 1_000
  let dueAt = performance.now() + untilPassSeconds * 1_000
  let comparedAt = Number.NEGATIVE_INFINITY
  permit.onWanted(() => nudge.fire())
  const gap = inbox && (await findGap(session, [inbox]))
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
    const { notice, isPushed } = await awaitNotice(session, inbox, seconds, watching)
    const noticedAt = performance.now()
    if (notice.changed && !notice.arrived && !notice.gone) {
      await pause(comparedAt + COMPARE_INTERVAL_MS - performance.now(), nudge.signal, stall.signal)
      comparedAt = performance.now()
    }
    stall.signal.throwIfAborted()
    if (notice.elsewhere) dueAt = Math.min(dueAt, soonestAt)
    // Other changes of the meantime may not have been reported, so the next pass does not wait for its long interval.
    else if (session.provider.watchesAll && (notice.arrived || notice.changed))
      dueAt = Math.min(dueAt, performance.now() + pollSeconds * 1_000)
    // A message that left the inbox may be in any mailbox, so all are looked at.
    if (notice.gone) return 'pass_due'
    const isRead = isPushed ? await readNoticed(session, inbox) : await readNotice(session, inbox, notice)
    if (!isRead) return 'pass_due'
    if (notice.arrived || notice.changed) observeNotice((performance.now() - noticedAt) / 1_000)
    // The provider may have shown that the index lacks more than was known.
    if (isComplete && notice.changed && (await lacksMore(session, inbox, gap))) return 'pass_due'
  }
}

/** Waits for a report of the provider, over the connection or by a push. */
async function awaitNotice(
  { provider }: Session,
  { source }: FollowedSource,
  seconds: number,
  { stall, nudge, notice: pushed }: Watching,
): Promise<{ notice: Notice; isPushed: boolean }> {
  if (!pushed.signal.aborted) {
    using ended = firstOf(stall.signal, nudge.signal, pushed.signal)
    const notice = await provider.watch(source, seconds, ended.signal)
    if (!pushed.signal.aborted) return { notice, isPushed: false }
  }
  pushed.clear()
  return { notice: ANYTHING, isPushed: true }
}

/** Reads the changes that the provider has pushed. @returns false if only a pass can */
export async function readPushed(
  session: Session,
  inbox: FollowedSource | null,
  pushed: Nudge,
): Promise<boolean> {
  pushed.clear()
  return inbox !== null && readNoticed(session, inbox)
}

/**
 * Reads the changes of the sources that a push is about, the inbox first.
 * @returns false if only a pass can: the provider cannot name them, or there are too many
 */
async function readNoticed(session: Session, inbox: FollowedSource): Promise<boolean> {
  const { provider, mailboxes } = session
  if (!provider.listNoticed) return readNotice(session, inbox, ANYTHING)
  const noticed = await provider.listNoticed()
  if (noticed === null || noticed.length > NOTICED_MAX) return false
  for (const source of noticed.toSorted((one, other) => rank(one, inbox) - rank(other, inbox))) {
    const mailbox = mailboxes.get(source)
    if (!mailbox) return false
    const followed = source === inbox.source ? inbox : { source, mailboxes: [mailbox] }
    if (!(await readNotice(session, followed, ANYTHING))) return false
  }
  return true
}

function rank(source: string, inbox: FollowedSource): number {
  return source === inbox.source ? 0 : 1
}

/**
 * Reads changes first, as a pass does: a change log has new mail as well.
 * @returns false if only a pass can read it, since the account was changed meanwhile
 */
async function readNotice(session: Session, inbox: FollowedSource, notice: Notice): Promise<boolean> {
  try {
    if (notice.changed) await compareSource(session, inbox)
    if (notice.arrived) await bringArrivals(session, inbox, { onlyNew: true })
    return true
  } catch (error) {
    if (error instanceof ChangedMeanwhile || error instanceof MailboxUnlisted) return false
    throw error
  }
}

async function lacksMore(session: Session, inbox: FollowedSource, gap: string | null): Promise<boolean> {
  const { db, owned, provider, since } = session
  const cursor = await findCursor(db, owned.id, inbox.source)
  return !provider.isComplete(cursor, since) || (provider.gapOf?.(cursor) ?? null) !== gap
}
