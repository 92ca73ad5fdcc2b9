import type { Kysely } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import { inTransaction, type UnitOfWork } from '../../events/unit-of-work.ts'
import type { MailAccount, PlacedMailbox } from '../../features/mail/messages/rules.ts'
import type { Logger } from '../../kit/log.ts'
import type { FollowOptions, MailProvider } from '../../providers/mail.ts'
import type { Doubts } from './doubts.ts'
import type { LookTimes } from './look-times.ts'
import { fenceAccount, type OwnedAccount } from '../ownership.ts'
import { loadQuarantine } from './quarantine.ts'
import { findCursor, loadKnown } from './source-store.ts'

/** One connection's worth of following an account. */
export interface Session {
  db: Kysely<Tables>
  owned: OwnedAccount
  provider: MailProvider
  /** Whether the first sync is complete: before it, nothing is announced and moves do not matter. */
  isInitialized: boolean
  /** Messages older than this are not wanted; null wants all. */
  since: Date | null
  signal: AbortSignal
  /** Called with every step that gets somewhere; a session that makes no progress is ended. */
  progressed(): void
  /** Called after new mail is recorded, and when the first sync is complete. */
  hasMail(): void
  doubts: Doubts
  looks: LookTimes
  log: Logger
}

/** A source and the mailbox whose messages come from it. */
export interface FollowedSource {
  source: string
  mailbox: PlacedMailbox
}

/** A transaction that commits only while the account is owned. */
export function underFence<T>(
  session: Session,
  work: (unit: UnitOfWork, account: MailAccount) => Promise<T>,
): Promise<T> {
  return inTransaction(session.db, session.owned.tenantId, async unit =>
    work(unit, await fenceAccount(unit, session.owned)),
  )
}

export async function followOptions(
  session: Session,
  { source, mailbox }: FollowedSource,
): Promise<FollowOptions> {
  const [cursor, quarantine] = await Promise.all([
    findCursor(session.db, session.owned.id, source),
    loadQuarantine(session.db, mailbox.id),
  ])
  const { provider, since } = session
  return {
    // What arrives from before the window is left out, so the cursor must not tell that it was handed over.
    cursor: cursor && since ? provider.narrow(cursor, since) : cursor,
    known: () => loadKnown(session.db, mailbox.id),
    since,
    skip: quarantine.skip,
    retry: quarantine.retry,
    signal: session.signal,
  }
}
