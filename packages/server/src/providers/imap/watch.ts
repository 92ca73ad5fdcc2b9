import { setTimeout as sleep } from 'node:timers/promises'
import type { Notice } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import type { Selected } from './open-mailbox.ts'
import {
  type Compared,
  type TrackedMailboxes,
  rememberChange,
  rememberCompared,
  wireNameOf,
} from './follow.ts'

/** Connections that were opened together are not all kept alive at the same moment. */
const KEEP_ALIVE_SPREAD = 0.2
/** If the server itself ends an IDLE sooner, it does not really support it. */
const IDLE_LEAST_MS = 1000

export interface Watching {
  keepAliveMs: number
  /** Interval of polling a server without IDLE. */
  pollMs: number
  /** Set when the server turns out not to support IDLE, despite its capabilities. */
  isIdleBroken: boolean
}

/**
 * `MailProvider.watch` on IMAP: uses IDLE, started again every `keepAliveMs` so that a dead connection is noticed,
 * otherwise NOOP.
 */
export async function watch(
  tracked: TrackedMailboxes,
  watching: Watching,
  source: string,
  options: { seconds: number; signal: AbortSignal },
): Promise<Notice> {
  const { connection } = tracked
  const until = performance.now() + options.seconds * 1000
  const wireName = wireNameOf(tracked, source)
  tracked.watched = wireName
  if (connection.selected?.wireName !== wireName) {
    rememberChange(tracked)
    await connection.examine(wireName)
  }
  const missed = changesSince(tracked.compared.get(source), connection.selected)
  if (missed.arrived || missed.gone || missed.changed) {
    // Reported once: the caller finds out whether there is anything to compare.
    if (connection.selected) rememberCompared(tracked, source, connection.selected)
    return missed
  }
  const { notifications } = tracked
  for (;;) {
    const notice = connection.takeNotice()
    if (notifications.take()) notice.elsewhere = true
    if (notice.changed) tracked.dirty.add(source)
    if (notice.arrived || notice.gone || notice.changed || notice.elsewhere) return notice
    const left = until - performance.now()
    if (left <= 0 && !notifications.isAnythingReported) tracked.quiet = connection.selected
    if (left <= 0 || options.signal.aborted) return notice
    if (connection.isClosed) throw new ProviderFailure('unavailable', 'The connection to the server ended.')
    if (canIdle(tracked, watching)) await idle(tracked, watching, left, options.signal)
    else await poll(tracked, watching.pollMs, left, options.signal)
  }
}

export function canIdle({ connection }: TrackedMailboxes, { isIdleBroken }: Watching): boolean {
  return connection.has('IDLE') && !isIdleBroken
}

async function idle(
  { connection }: TrackedMailboxes,
  watching: Watching,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const begunAt = performance.now()
  try {
    const keepAliveMs = watching.keepAliveMs * (1 - KEEP_ALIVE_SPREAD * Math.random())
    const outcome = await connection.idle(Math.min(ms, keepAliveMs), signal)
    if (outcome === 'ended_by_server' && performance.now() - begunAt < IDLE_LEAST_MS)
      watching.isIdleBroken = true
  } catch (error) {
    if (connection.isClosed || !(error instanceof ProviderFailure)) throw error
    watching.isIdleBroken = true
  }
}

async function poll(
  { connection }: TrackedMailboxes,
  pollMs: number,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  await sleep(Math.min(ms, pollMs), null, { signal }).catch(() => {})
  if (!signal.aborted) await connection.poke()
}

/** The changes between the last comparison and now, if the mailbox was opened again in between. */
function changesSince(before: Compared | undefined, now: Selected | null): Notice {
  if (!before || !now) return { arrived: false, changed: false, gone: false }
  return {
    arrived: before.uidNext !== null && now.uidNext !== null && now.uidNext > before.uidNext,
    changed: before.highestModseq !== now.highestModseq || before.uidValidity !== now.uidValidity,
    gone: now.exists < before.exists,
  }
}
