import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import { ProviderFailure } from '../failure.ts'
import type { Cursor, MailProvider, Notice, RemoteMailbox } from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import { requestOfLabel } from './ask-label.ts'
import { bringMessages } from './arrivals.ts'
import { contentsOf, listDraftKeys } from './draft-keys.ts'
import { describeGap, narrowCursor, reachesBack, readCursor } from './cursor.ts'
import type { ListingConnection } from './listings.ts'
import { askProfile, compareHistory } from './history.ts'
import { isMailbox, toMailboxes } from './labels.ts'
import { listPage } from './list-page.ts'
import { locateMessages } from './locate.ts'
import { type Label, labelsSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** Number of labels up to which their messages are counted. */
const COUNTED_LABELS_MAX = 200

/** A whole pass brings nothing of mail that the history lacks, only names and counts of labels. */
const PASS_FACTOR = 12
/** Each is looked up twice, which is to fit into a minute beside other requests. */
const DIFFERENCES_MAX = 100
/** A notice can be lost, so a watched mailbox is polled as well, though less often. */
const WATCHED_POLL_FACTOR = 5 / 3
/**
 * Gmail drops a notice that would follow another one within a second, also the one with which a watch begins
 * (developers.google.com/workspace/gmail/api/guides/push). A look after that time sees the change.
 */
const DROPPED_NOTICE_MS = 1_500
/** Moments of an interval at which accounts are polled. */
const MOMENTS = 50

export function gmailMail(connection: ListingConnection, pollSeconds: number): MailProvider {
  let mailboxesLeftOut = 0
  /** No notice brought the last change, so none was dropped after it. */
  let wasFoundByLook = false
  return {
    async listMailboxes() {
      // Before the history is read, so that nothing happens between the two.
      await connection.pushing.keep(connection.signal)
      const { mailboxes, leftOut } = await listMailboxes(connection)
      mailboxesLeftOut = leftOut
      return mailboxes
    },
    get mailboxesLeftOut() {
      return mailboxesLeftOut
    },
    hasChanged: ({ state }, stored) => hasChanged(state, stored),
    compare: (_, options) => compareHistory(connection, options.cursor, options),
    arrivals: (_, options) => bringMessages(connection, options.cursor, options),
    isComplete(stored, since) {
      const cursor = readCursor(stored)
      return cursor !== null && cursor.listing === null && reachesBack(cursor, since)
    },
    gapOf(stored) {
      const cursor = readCursor(stored)
      return cursor && describeGap(cursor)
    },
    relist(stored) {
      connection.healing = null
      const cursor = readCursor(stored)
      return cursor ? { ...cursor, listing: 'healing' } : stored
    },
    narrow(stored, since) {
      const cursor = readCursor(stored)
      const narrowed = cursor && narrowCursor(cursor, since)
      return narrowed === null || isDeepStrictEqual(narrowed, cursor) ? stored : narrowed
    },
    // Labels have ids that survive a rename.
    isRenamed: () => false,
    async locate(_, keys) {
      const located = await locateMessages(connection, keys)
      if (located.gone.length === 0) return located
      const { keys: drafts } = await listDraftKeys(connection.api, { signal: connection.signal })
      return { ...located, drafts: contentsOf(drafts) }
    },
    list: (_, options) => listPage(connection, options),
    differencesMax: DIFFERENCES_MAX,
    async watch(_, seconds, signal) {
      const { pushing } = connection
      await pushing.keep(signal)
      const interval = pushing.isPushed ? pollSeconds * WATCHED_POLL_FACTOR : pollSeconds
      const firstMs = pushing.isPushed && !wasFoundByLook ? DROPPED_NOTICE_MS : null
      const notice = await watch(connection, { seconds, pollSeconds: interval, firstMs, signal })
      wasFoundByLook = notice.changed
      return notice
    },
    get isPushed() {
      return connection.pushing.isPushed
    },
    get pushProblem() {
      return connection.pushing.problem
    },
    passFactor: PASS_FACTOR,
  }
}

interface State extends Cursor {
  readonly historyId: string
}

async function listMailboxes(
  connection: ListingConnection,
): Promise<{ mailboxes: RemoteMailbox[]; leftOut: number }> {
  const { api, signal, counts } = connection
  const [{ historyId }, { labels }] = await Promise.all([
    askProfile(connection),
    api.ask({ path: 'labels', units: UNITS.labelsList, schema: labelsSchema }, { signal }),
  ])
  connection.seenHistoryId = historyId
  connection.ignoredLabels = new Set(labels.filter(label => !isMailbox(label)).map(({ id }) => id))
  await countMessages(connection, labels.filter(isMailbox), historyId).catch((error: unknown) => {
    // Counts are not worth the units of new mail. Missing counts are read again later.
    if (!(error instanceof ProviderFailure) || error.kind !== 'throttled') throw error
  })
  const state: State = { historyId }
  return toMailboxes(labels, state, id => counts.get(id) ?? null)
}

/** Counts the messages of labels, if anything has happened since they were counted. */
async function countMessages(
  connection: ListingConnection,
  labels: readonly Label[],
  historyId: string,
): Promise<void> {
  const { api, signal, counts, countedAt } = connection
  const uncounted = countedAt === historyId ? labels.filter(({ id }) => !counts.has(id)) : labels
  if (uncounted.length === 0 || labels.length > COUNTED_LABELS_MAX) return
  for (let at = 0; at < uncounted.length; at += BATCH_PARTS_MAX) {
    const asked = uncounted.slice(at, at + BATCH_PARTS_MAX)
    const outcomes = await api.askAll(asked.map(requestOfLabel), { signal, urgency: 'background' })
    // A count that is missing now comes later.
    for (const { value } of outcomes)
      if (value) counts.set(value.id, { total: value.messagesTotal ?? 0, unread: value.messagesUnread ?? 0 })
  }
  connection.countedAt = historyId
}

/** Something happened after the cursor, or a missing part of the history is still to be made up for. */
function hasChanged(state: Cursor | null, stored: Cursor | null): boolean {
  const cursor = readCursor(stored)
  if (!cursor || cursor.hasGap) return true
  // The state that `listMailboxes` stored there.
  const { historyId } = state as State
  return historyId !== cursor.historyId
}

interface Watching {
  seconds: number
  pollSeconds: number
  /** Milliseconds until the first look; null if it comes after the usual interval. */
  firstMs: number | null
  signal: AbortSignal
}

/** Reads the history id from time to time. A change of it is then read from the history. */
async function watch(
  connection: ListingConnection,
  { seconds, pollSeconds, firstMs, signal }: Watching,
): Promise<Notice> {
  const until = performance.now() + seconds * 1_000
  let soonMs = firstMs
  for (;;) {
    const left = until - performance.now()
    const pauseMs = Math.min(soonMs ?? Infinity, untilLook(performance.now(), pollSeconds * 1_000))
    const isLast = left <= (soonMs === null ? pollSeconds * 1_000 : pauseMs)
    soonMs = null
    await sleep(Math.max(0, isLast ? left : pauseMs), undefined, { signal }).catch(() => {})
    if (isLast || signal.aborted) return { arrived: false, changed: false, gone: false }
    const seen = connection.seenHistoryId
    const { historyId } = await askProfile(connection)
    if (signal.aborted || historyId === seen) continue
    connection.seenHistoryId = historyId
    return { arrived: true, changed: true, gone: false }
  }
}

/**
 * Milliseconds until the account is polled again: the interval, or less by up to a 50th of it, so that accounts are
 * polled together. Waking up costs an idle process more than the work that it then does.
 */
export function untilLook(nowMs: number, intervalMs: number): number {
  const apartMs = intervalMs / MOMENTS
  return Math.floor((nowMs + intervalMs) / apartMs) * apartMs - nowMs
}
