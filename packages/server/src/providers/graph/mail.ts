import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Cursor, MailProvider, Notice, RemoteMailbox } from '../mail.ts'
import { bringMessages } from './arrivals.ts'
import { compareFolder } from './compare.ts'
import { type FolderState, isComplete, narrowCursor, readCursor } from './cursor.ts'
import type { GraphConnection } from './graph-connection.ts'
import { listPage } from './list-page.ts'
import { locateMessages } from './locate.ts'
import { askRecent, isModified, isSameState, look, lookAgain, newestOf } from './quiet-look.ts'

/** A whole pass brings nothing that the looks of `watch` do not show, but links that are due. */
const PASS_FACTOR = 10
/** The link of each folder is asked at this interval, although its counts and modifications have not changed. */
const LINK_MS_MAX = 15 * 60_000
/** Each is looked up in a call of its own. */
const DIFFERENCES_MAX = 500
/** A notification can be lost, so a mailbox with a subscription is polled as well, though less often. */
const PUSHED_POLL_FACTOR = 4
/** Moments of an interval at which mailboxes are polled, so that an idle process wakes up less often. */
const MOMENTS = 50

const NOTHING: Notice = { arrived: false, changed: false, gone: false }

export function graphMail(connection: GraphConnection, pollSeconds: number): MailProvider {
  let mailboxesLeftOut = 0
  const { seen, subscribing } = connection
  return {
    async listMailboxes() {
      const { signal } = connection
      const { mailboxes, leftOut } = await look(connection, { signal })
      mailboxesLeftOut = leftOut
      seen.hasOtherFolders = false
      return mailboxes
    },
    get mailboxesLeftOut() {
      return mailboxesLeftOut
    },
    hasChanged: (mailbox, stored) => hasChanged(connection, mailbox, stored),
    compare: (source, options) => compareFolder(connection, source, options),
    arrivals: (source, options) => bringMessages(connection, source, options),
    isComplete(stored, since) {
      const cursor = readCursor(stored)
      return cursor !== null && isComplete(cursor, since)
    },
    relist(stored) {
      const cursor = readCursor(stored)
      return cursor && cursor.stage === 'follow'
        ? { ...cursor, stage: 'walk', walk: null, sweep: null }
        : stored
    },
    narrow(stored, since) {
      const cursor = readCursor(stored)
      const narrowed = cursor && narrowCursor(cursor, since)
      return narrowed === null || isDeepStrictEqual(narrowed, cursor) ? stored : narrowed
    },
    // The id of a folder, which is its key, survives that. A folder that is found by its id is no new one.
    isRenamed: () => false,
    locate: (_, keys) => locateMessages(connection, keys, { signal: connection.signal }),
    list: ({ source }, options) => listPage(connection, source, options),
    differencesMax: DIFFERENCES_MAX,
    async watch(source, seconds, signal) {
      await subscribing.keep(signal)
      const { isPushed } = subscribing
      const interval = isPushed ? pollSeconds * PUSHED_POLL_FACTOR : pollSeconds
      return watch(connection, source, { seconds, pollSeconds: interval, isPushed, signal })
    },
    listNoticed: () => listNoticed(connection),
    get isPushed() {
      return subscribing.isPushed
    },
    watchesAll: true,
    get pushProblem() {
      return subscribing.problem
    },
    passFactor: PASS_FACTOR,
  }
}

/** Whether a folder looks different from when its changes were last asked for, or its link is due to be asked. */
function hasChanged(
  { api, seen }: GraphConnection,
  { key, state: given }: RemoteMailbox,
  stored: Cursor | null,
): boolean {
  const cursor = readCursor(stored)
  if (!cursor || cursor.unfound.length > 0) return true
  // The state that `look` stored there.
  const state = given as unknown as FolderState
  if (state.total !== cursor.total || state.unread !== cursor.unread) return true
  if (isModified(cursor, state)) return true
  const agoMs = api.now() - Math.max(cursor.askedAt, seen.askedAt.get(key) ?? 0)
  return agoMs >= LINK_MS_MAX || agoMs < 0
}

interface Watching {
  seconds: number
  pollSeconds: number
  isPushed: boolean
  signal: AbortSignal
}

/** Looks at the whole mailbox from time to time. A change is then read by the link of its folder. */
async function watch(
  connection: GraphConnection,
  source: string,
  { seconds, pollSeconds, isPushed, signal }: Watching,
): Promise<Notice> {
  const until = performance.now() + seconds * 1_000
  for (;;) {
    const left = until - performance.now()
    const isLast = left <= pollSeconds * 1_000
    const pause = isLast ? left : untilLook(performance.now(), pollSeconds * 1_000)
    await sleep(Math.max(0, pause), undefined, { signal }).catch(() => {})
    if (isLast || signal.aborted) return NOTHING
    const ask = { signal: connection.signal }
    // A mailbox with a subscription is looked at seldom, so each look is at all of it.
    await (isPushed ? look(connection, ask) : lookAgain(connection, ask))
    const notice = noticeOf(connection, source)
    if (signal.aborted) return NOTHING
    if (notice !== null) return notice
  }
}

/** The changes since each folder was last asked for its own; null if there are none. Each is reported once. */
function noticeOf({ seen }: GraphConnection, source: string): Notice | null {
  let notice: Notice | null = null
  let isElsewhere = seen.hasOtherFolders
  seen.hasOtherFolders = false
  for (const [id, state] of seen.folders) {
    const before = seen.compared.get(id)
    if (!before || isSameState(before, state)) continue
    seen.compared.set(id, state)
    if (id === source) notice = changeOf(before, state)
    else isElsewhere = true
  }
  if (isElsewhere) return { ...(notice ?? NOTHING), elsewhere: true }
  return notice
}

function changeOf(before: FolderState, state: FolderState): Notice {
  const isLess = before.total !== null && state.total !== null && state.total < before.total
  return { arrived: true, changed: true, gone: isLess }
}

/** The folders with newer modifications than were asked for; null if there are none, as after a deletion. */
async function listNoticed(connection: GraphConnection): Promise<readonly string[] | null> {
  const { seen, signal, subscribing } = connection
  if ((await subscribing.noted()) === 'pass') return null
  const recent = await askRecent(connection, { signal })
  const sources = [...newestOf(recent)].flatMap(([id, newest]) => {
    const before = seen.compared.get(id)
    return before && isModified(before, newest) ? [id] : []
  })
  if (sources.length === 0) return null
  const ids = new Set(sources)
  seen.recent = recent.filter(({ folderId }) => seen.folders.has(folderId))
  for (const [id, newest] of newestOf(recent)) {
    const state = seen.folders.get(id)
    // The count is from before the arrivals. If it were kept, a deletion after one would lead to the same count.
    if (state && ids.has(id)) seen.folders.set(id, { ...state, total: null, ...newest })
  }
  return sources
}

/**
 * Milliseconds until the mailbox is looked at again: the interval, or less by up to a 50th of it, so that mailboxes are
 * looked at together.
 */
function untilLook(nowMs: number, intervalMs: number): number {
  const apartMs = intervalMs / MOMENTS
  return Math.floor((nowMs + intervalMs) / apartMs) * apartMs - nowMs
}
