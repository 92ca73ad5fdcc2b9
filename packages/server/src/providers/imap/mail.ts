import type { ChangingProvider } from '../changing.ts'
import type { Offering } from '../connected-account.ts'
import type { ContentProvider } from '../content.ts'
import type {
  Cursor,
  FollowOptions,
  KnownMessage,
  ListOptions,
  MailProvider,
  MessageKey,
  RemoteMailbox,
  SourceCursor,
} from '../mail.ts'
import type { SearchProvider } from '../search.ts'
import { arrivals } from './arrivals.ts'
import { imapChanging } from './changing/changing.ts'
import { compareSource, FLAGS_AT_ONCE, flagsIntervalMs } from './compare-source.ts'
import { connectImap, type ImapEndpoint, type ImapLogin } from './connect.ts'
import { ImapConnection } from './connection.ts'
import { openContent, readSources } from './content.ts'
import { narrowCursor, reachesBack, readCursor } from './cursor.ts'
import { findMessages } from './find.ts'
import { type TrackedMailboxes, rememberChange } from './follow.ts'
import { listPage } from './listing.ts'
import { answersTo, askMailboxes, askNamespaces, findStatus } from './list.ts'
import { type Arrangement, arrangeMailboxes, type MailboxStatus, type Namespaces } from './mailboxes.ts'
import { locate } from './locate.ts'
import { findOthers } from './same-messages.ts'
import { Notifications } from './notifications.ts'
import { NotifyTrust } from './notify-trust.ts'
import type { Suspicions } from './suspicions.ts'
import { textsOf } from './values.ts'
import { canIdle, watch, type Watching } from './watch.ts'

const KEEP_ALIVE_SECONDS = 240
const ANSWER_SECONDS = 30
const POLL_SECONDS = 30
/** Listings in a row for which a quiet mailbox is not left: about six minutes. Rarer ones count for more. */
const STAYS_MAX = 7
/**
 * A UIDVALIDITY that is not a time (RFC 9051 section 2.3.1.1 suggests one) may be shared by many mailboxes.
 */
const UID_VALIDITY_TELLING = 1_000_000

export interface ImapAccountOptions {
  endpoint: ImapEndpoint
  login: ImapLogin
  /** Kept by the caller over several connections, while it follows the account. */
  suspicions: Suspicions
  /** Kept likewise. */
  notifyTrust?: NotifyTrust
  /** Whether somebody reads invitations among new messages. Default: nobody. */
  seeksInvitations?: boolean
  /** Ends the connection at any time: an IMAP command cannot be cancelled. */
  signal: AbortSignal
  /** Interval of NOOPs on an idle connection. */
  keepAliveSeconds?: number
  /** Time limit for their answer. */
  answerSeconds?: number
  /** Interval of polling a server without IDLE. */
  pollSeconds?: number
  now?: () => number
}

/** Connects to an account on an IMAP server. Throws `ProviderFailure`. */
export async function imapAccount(
  options: ImapAccountOptions,
): Promise<Offering<'mail' | 'content' | 'search' | 'changing'>> {
  const { connection, hasQresync } = await connect(options)
  const tracked: TrackedMailboxes = {
    connection,
    hasQresync,
    suspicions: options.suspicions,
    seeksInvitations: options.seeksInvitations ?? false,
    notifications: new Notifications(options.notifyTrust ?? new NotifyTrust()),
    wireNames: new Map(),
    mailboxIds: new Map(),
    listedUnseen: new Map(),
    dirty: new Set(),
    compared: new Map(),
    positions: new Map(),
    watched: null,
    quiet: null,
    stays: 0,
    now: options.now ?? Date.now,
  }
  const watching: Watching = {
    keepAliveMs: (options.keepAliveSeconds ?? KEEP_ALIVE_SECONDS) * 1000,
    pollMs: (options.pollSeconds ?? POLL_SECONDS) * 1000,
    isIdleBroken: false,
  }
  return new ImapAccount(tracked, watching)
}

/** A class, as is `ImapMail`: thousands of idle accounts keep one each, and share its methods. */
class ImapAccount implements Offering<'mail' | 'content' | 'search' | 'changing'> {
  readonly mail: MailProvider
  readonly #tracked: TrackedMailboxes
  #changing: ChangingProvider | null = null

  constructor(tracked: TrackedMailboxes, watching: Watching) {
    this.#tracked = tracked
    this.mail = new ImapMail(tracked, watching)
  }

  /** Made on first use, as are the next two: a connection by which an account is followed does not need them. */
  get content(): ContentProvider {
    const tracked = this.#tracked
    return {
      open: (location, range) => openContent(tracked, location, range),
      readSources: (at, bytesMax) => readSources(tracked, at, bytesMax),
    }
  }

  get search(): SearchProvider {
    return { search: query => findMessages(this.#tracked, query) }
  }

  get changing(): ChangingProvider {
    return (this.#changing ??= imapChanging(this.#tracked))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#tracked.connection[Symbol.asyncDispose]()
  }
}

class ImapMail implements MailProvider {
  readonly #tracked: TrackedMailboxes
  readonly #watching: Watching
  #namespaces: Namespaces | null = null
  #mailboxesLeftOut = 0

  constructor(tracked: TrackedMailboxes, watching: Watching) {
    this.#tracked = tracked
    this.#watching = watching
  }

  async listMailboxes() {
    const { connection, notifications } = this.#tracked
    await notifications.request(connection)
    this.#namespaces ??= await askNamespaces(connection)
    const { mailboxes, leftOut } = await listMailboxes(this.#tracked, this.#namespaces)
    this.#mailboxesLeftOut = leftOut
    return mailboxes.map(({ mailbox }) => mailbox)
  }

  answersTo(key: string) {
    return answersTo(this.#tracked.connection, key)
  }

  get mailboxesLeftOut() {
    return this.#mailboxesLeftOut
  }

  hasChanged(mailbox: RemoteMailbox, cursor: Cursor | null) {
    return hasChanged(this.#tracked, mailbox, cursor)
  }

  compare(source: string, follow: FollowOptions) {
    return compareSource(this.#tracked, source, follow)
  }

  arrivals(source: string, follow: FollowOptions) {
    return arrivals(this.#tracked, source, follow)
  }

  isComplete(stored: Cursor | null, since: Date | null) {
    const cursor = readCursor(stored)
    return cursor !== null && cursor.backfillBelow === null && reachesBack(cursor, since)
  }

  isFirstReading(stored: Cursor | null) {
    const cursor = readCursor(stored)
    return cursor === null || (cursor.backfillBelow !== null && cursor.widenedBefore === null)
  }

  narrow(stored: Cursor, since: Date) {
    const cursor = readCursor(stored)
    return cursor ? narrowCursor(cursor, since) : stored
  }

  isRenamed(mailbox: RemoteMailbox, stored: Cursor) {
    return isRenamed(mailbox, stored)
  }

  locate(at: SourceCursor | null, keys: readonly MessageKey[]) {
    return locate(this.#tracked, at, keys)
  }

  findOthers(at: SourceCursor, known: ReadonlyMap<MessageKey, KnownMessage>) {
    return findOthers(this.#tracked, at, known)
  }

  list(at: SourceCursor, options: ListOptions) {
    return listPage(this.#tracked, at, options)
  }

  watch(source: string, seconds: number, signal: AbortSignal) {
    return watch(this.#tracked, this.#watching, source, { seconds, signal })
  }

  get isPushed() {
    return canIdle(this.#tracked, this.#watching)
  }

  get watchesAll() {
    return this.#tracked.notifications.areComplete && this.isPushed
  }

  get isOutOfDate() {
    return this.#tracked.notifications.hasLostTrust
  }

  get passFactor() {
    return this.watchesAll ? this.#tracked.notifications.passFactor : 1
  }
}

async function connect({ endpoint, login, signal, answerSeconds = ANSWER_SECONDS }: ImapAccountOptions) {
  const { client, guard } = await connectImap(endpoint, login, signal)
  const connection = new ImapConnection(client, guard, answerSeconds * 1000)
  const close = () => connection.close()
  signal.addEventListener('abort', close, { once: true })
  client.once('close', () => signal.removeEventListener('abort', close))
  try {
    signal.throwIfAborted()
    return { connection, hasQresync: await enableQresync(connection) }
  } catch (error) {
    close()
    throw error
  }
}

/**
 * RFC 7162 section 3.2.3. The server then names vanished messages by their UIDs. @returns whether the server agreed
 */
async function enableQresync(connection: ImapConnection): Promise<boolean> {
  if (!connection.has('QRESYNC') || !connection.has('ENABLE')) return false
  let isEnabled = false
  await connection.run({
    name: 'ENABLE',
    arguments: [{ type: 'ATOM', value: 'QRESYNC' }],
    answers: {
      ENABLED(_, values) {
        isEnabled ||= textsOf(values).some(name => name.toUpperCase() === 'QRESYNC')
      },
    },
  })
  return isEnabled
}

async function listMailboxes(tracked: TrackedMailboxes, namespaces: Namespaces): Promise<Arrangement> {
  const { quiet } = tracked
  const hasStayed = await leaveUnlessQuiet(tracked)
  const listing = await askMailboxes(tracked.connection, tracked.mailboxIds)
  tracked.notifications.listed(listing, quiet !== null, hasStayed ? null : quiet)
  const arranged = arrangeMailboxes(listing.mailboxes, namespaces, wireName => findStatus(listing, wireName))
  tracked.wireNames.clear()
  tracked.listedUnseen.clear()
  for (const { mailbox, wireName } of arranged.mailboxes) {
    tracked.wireNames.set(mailbox.key, wireName)
    if (mailbox.unreadCount !== null) tracked.listedUnseen.set(mailbox.key, mailbox.unreadCount)
  }
  return { ...arranged, leftOut: arranged.leftOut + listing.leftOut }
}

/**
 * Leaves the open mailbox, of which Dovecot's STATUS would report only the state that the session has already seen. A
 * mailbox that was watched without news stays open: the list is a poll of it (RFC 9051 section 6.1.2), and the next
 * watch notices the reports that come with it. In case the server never reports anything, such a mailbox is left now
 * and then.
 * @returns whether the open mailbox was not left
 */
async function leaveUnlessQuiet(tracked: TrackedMailboxes): Promise<boolean> {
  const { connection, quiet, notifications } = tracked
  const stays = tracked.stays + notifications.passFactor
  const mayStay = quiet !== null && quiet === connection.selected && stays <= STAYS_MAX
  // Another listing of the same pass must show the present state of every mailbox.
  tracked.quiet = null
  tracked.stays = mayStay ? stays : 0
  if (mayStay) return true
  rememberChange(tracked)
  await connection.leave()
  return false
}

function hasChanged(
  tracked: TrackedMailboxes,
  { key, state }: RemoteMailbox,
  stored: Cursor | null,
): boolean {
  const cursor = readCursor(stored)
  const status = readState(state)
  if (!cursor || !status || tracked.dirty.has(key)) return true
  if (status.uidValidity !== cursor.uidValidity || status.uidNext !== cursor.uidNext) return true
  if (status.messages !== cursor.exists) return true
  if (status.highestModseq !== null || cursor.highestModseq !== null)
    return status.highestModseq !== cursor.highestModseq
  const age = tracked.now() - cursor.comparedAt
  if (age < 0 || age >= flagsIntervalMs(cursor.exists)) return true
  return cursor.exists <= FLAGS_AT_ONCE && cursor.unseen !== null && status.unseen !== cursor.unseen
}

/** The state that `listMailboxes` stored there. */
function readState(state: Cursor | null): MailboxStatus | null {
  return state as MailboxStatus | null
}

/**
 * Compares by RFC 8474 MAILBOXID, otherwise by a UIDVALIDITY that no other mailbox can have (RFC 9051 section
 * 2.3.1.1).
 */
function isRenamed({ providerId, state }: RemoteMailbox, stored: Cursor): boolean {
  const cursor = readCursor(stored)
  const status = readState(state)
  if (!cursor || !status) return false
  if (providerId !== null && cursor.mailboxId !== null) return providerId === cursor.mailboxId
  if (status.uidValidity !== cursor.uidValidity || cursor.uidValidity < UID_VALIDITY_TELLING) return false
  return cursor.uidNext > 1 && status.uidNext !== null && status.uidNext >= cursor.uidNext
}
