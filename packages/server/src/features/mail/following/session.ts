import type { Kysely, RawBuilder } from 'kysely'
import type { Rows } from '../../../database/in-one-flight.ts'
import type { Tables } from '../../../database/tables.ts'
import { isUnmet } from '../../../database/precondition.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { listChangedKeys } from '../messages/record-changed-keys.ts'
import { recordListed } from '../messages/record-missing.ts'
import { recordSuspicion } from '../messages/record-suspicion.ts'
import type { FollowedSource, MailAccount, PlacedMailbox } from '../messages/rules.ts'
import { holdsAny, listHeldDrafts } from '../messages/store.ts'
import type { Logger } from '../../../kit/log.ts'
import type { Cursor, FollowOptions, MailProvider, RemoteMessage } from '../../../providers/mail.ts'
import type { Bodies } from './bodies.ts'
import type { Doubts } from '../../../sync/doubts.ts'
import type { LookTimes } from './look-times.ts'
import { fenceAccount } from './fence.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import { withoutChanges } from './counted-messages.ts'
import { loadFollowed } from './quarantine.ts'
import { loadKnown, storeCursor } from './source-store.ts'

/** An account that is followed over one connection. */
export interface Session {
  db: Kysely<Tables>
  owned: OwnedAccount
  provider: MailProvider
  /** Whether others may wait for the connection. */
  isOneAtATime: boolean
  /** Whether the first sync is complete: before it, nothing is announced and moves do not matter. */
  isInitialized: boolean
  /** Messages older than this are not wanted; null wants all. */
  since: Date | null
  signal: AbortSignal
  /** Called with every step that makes progress; a session that makes none is ended. */
  progressed(): void
  bodies: Bodies
  doubts: Doubts
  looks: LookTimes
  /** Called when the numbers of the account's messages have come under suspicion. */
  onSuspicion(): void
  /** The mailboxes as they were last listed, by the provider's key. */
  mailboxes: ReadonlyMap<string, PlacedMailbox>
  /** Keys of mailboxes that the provider named and does not list; the pass goes on without them. */
  unlisted: Set<string>
  log: Logger
}

/** Thrown if the provider puts a message into a mailbox that it had not listed: the mailboxes are listed again. */
export class MailboxUnlisted extends Error {
  readonly key: string

  constructor(key: string) {
    super('a message is in a mailbox that was made after the mailboxes were listed')
    this.name = 'MailboxUnlisted'
    this.key = key
  }
}

/** Thrown if the interface changed messages of a step, which may be out of date: the pass begins again. */
export class ChangedMeanwhile extends Error {
  constructor() {
    super('the interface changed the account in the meantime')
    this.name = 'ChangedMeanwhile'
  }
}

/** @throws MailboxUnlisted */
export function mailboxesOf(session: Session, keys: readonly string[]): PlacedMailbox[] {
  return keys.flatMap(key => {
    const mailbox = session.mailboxes.get(key)
    if (!mailbox && !session.unlisted.has(key)) throw new MailboxUnlisted(key)
    return mailbox ?? []
  })
}

/**
 * A transaction that commits only while the account is owned.
 * @throws ChangedMeanwhile if the interface deleted or renamed the mailboxes whose cursor it records
 */
export function underFence<T>(
  session: Session,
  work: (unit: UnitOfWork, account: MailAccount) => Promise<T>,
): Promise<T> {
  return readUnderFence(session, [], work)
}

/** As `underFence`, with statements that are sent with the check of the ownership, so that none takes a round trip. */
export async function readUnderFence<T, const Reading extends ReadonlyArray<RawBuilder<unknown>>>(
  session: Session,
  reading: Reading,
  work: (unit: UnitOfWork, account: MailAccount, rows: Rows<Reading>) => Promise<T>,
): Promise<T> {
  try {
    return await inTransaction(session.db, session.owned.tenantId, async unit => {
      const { account, rows } = await fenceAccount(unit, session.owned, reading)
      return work(unit, account, rows)
    })
  } catch (error) {
    throw isUnmet(error) ? new ChangedMeanwhile() : error
  }
}

/** Stores how far the steps of a source are recorded, in their transaction, which fails if it is no longer followed. */
export function recordCursor(
  unit: UnitOfWork,
  { owned }: Pick<Session, 'owned'>,
  { source }: FollowedSource,
  cursor: Cursor,
): Promise<void> {
  return storeCursor(unit, { accountId: owned.id, source, isRequired: true }, cursor)
}

export async function followOptions(session: Session, followed: FollowedSource): Promise<FollowOptions> {
  const { provider, since, db, owned } = session
  const { cursor, skip, retry } = await loadFollowed(db, owned.id, followed.source)
  return {
    // Arrivals from before the window are left out, so the cursor must not count them as handed over.
    cursor: cursor && since ? provider.narrow(cursor, since) : cursor,
    known: async () => {
      const known = await loadKnown(db, followed.mailboxes)
      // In this order, so that nothing that the interface adds meanwhile is taken to be known.
      return withoutChanges(known, await listChangedKeys(db, owned.id, followed.source))
    },
    lacking: keys => findLacking(session, followed, keys),
    heldDrafts: draftKeys => listHeldDrafts(db, owned.id, draftKeys),
    onRewound: () => suspectNumbers(session),
    since,
    skip,
    retry,
    signal: session.signal,
  }
}

/** The provider is as it was before, or has another message under a known number: all sources are compared again. */
export async function suspectNumbers(session: Session): Promise<void> {
  await underFence(session, (unit, account) => recordSuspicion(unit, account.id))
  session.log.warn('The provider seems to have been restored from a backup; all mailboxes are compared')
  session.onSuspicion()
}

/** New mail is lacking as a whole. That needs no transaction, since there is nothing to recognise. */
async function findLacking(
  session: Session,
  followed: FollowedSource,
  keys: readonly string[],
): Promise<string[]> {
  if (!(await holdsAny(session.db, session.owned.id, keys))) return [...keys]
  return underFence(session, (unit, account) => recordListed(unit, account, followed, keys))
}

/** Hands over messages that are recorded by now, and the sources that came with them. */
export async function handOverRecorded(
  { bodies }: Session,
  messages: readonly RemoteMessage[],
  messageIds: readonly string[],
): Promise<void> {
  const sources = new Map(
    messages.flatMap(({ key, source }) => (source ? [[String(key), source] as const] : [])),
  )
  if (sources.size > 0) await bodies.keepSources(sources)
  if (messageIds.length > 0) bodies.onRecorded(messageIds)
}
