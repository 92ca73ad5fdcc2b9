import { recordMailboxes, recordVanishedMailboxes } from '../../features/mail/mailboxes/record.ts'
import {
  type IndexedMailbox,
  isSettled,
  type MailboxPlan,
  planMailboxes,
} from '../../features/mail/mailboxes/rules.ts'
import { type DirectionsPosition, recordDirections } from '../../features/mail/messages/record-directions.ts'
import { recordLost } from '../../features/mail/messages/record-missing.ts'
import { MAILBOX_ROLES, type MailboxRole } from '../../providers/mailbox-role.ts'
import type { Cursor, RemoteMailbox } from '../../providers/mail.ts'
import { beginLook } from '../ownership.ts'
import { type FollowedSource, type Session, underFence } from './session.ts'
import { countMessages, listIndexedMailboxes } from './source-store.ts'

const SUSPICIOUS_LOSS = 100
const LOST_PER_TRANSACTION = 500
const DIRECTIONS_PER_TRANSACTION = 500

export interface RemoteSource extends FollowedSource {
  remote: RemoteMailbox
}

export interface MailboxPass {
  /** In the order to be read: inbox first, junk and trash last. */
  sources: RemoteSource[]
  /** Where each mailbox stood when it was listed, by mailbox id. */
  cursors: ReadonlyMap<string, Cursor | null>
  vanished: IndexedMailbox[]
}

/** Lists the provider's mailboxes and brings the index up to them. */
export async function passMailboxes(session: Session): Promise<MailboxPass> {
  const plan = await planPass(session)
  session.progressed()
  let rows = plan.kept.map(({ indexed }) => indexed)
  if (!isSettled(plan)) {
    await turnDirections(session, plan)
    await underFence(session, (unit, account) => recordMailboxes(unit, account, plan))
    rows = await listIndexedMailboxes(session.db, session.owned.id)
  }
  const indexed = new Map(rows.map(mailbox => [mailbox.provider_key, mailbox]))
  const remotes = [...plan.kept.map(({ remote }) => remote), ...plan.created]
  const sources = remotes.flatMap(remote => {
    const mailbox = indexed.get(remote.key)
    return mailbox && remote.source !== null
      ? [{ source: remote.source, mailbox: { id: mailbox.id, role: roleOf(mailbox.role) }, remote }]
      : []
  })
  return {
    sources: sources.toSorted((a, b) => urgency(a) - urgency(b)),
    cursors: new Map(rows.map(({ id, cursor }) => [id, cursor])),
    vanished: plan.vanished,
  }
}

async function planPass(session: Session): Promise<MailboxPlan> {
  const indexed = await listIndexedMailboxes(session.db, session.owned.id)
  const plan = async () =>
    planMailboxes(indexed, await session.provider.listMailboxes(), (remote, cursor) =>
      session.provider.isRenamed(remote, cursor),
    )
  const first = await plan()
  if (first.vanished.length === 0) return first
  const atStake = await countMessages(
    session.db,
    first.vanished.map(({ id }) => id),
  )
  if (atStake <= SUSPICIOUS_LOSS) return first
  session.log.warn({ count: atStake }, 'Mailboxes with messages vanished; listing them once more')
  return plan()
}

/** Before the roles themselves are recorded: whoever is interrupted finds them changed again, and begins anew. */
async function turnDirections(session: Session, plan: MailboxPlan): Promise<void> {
  for (const { indexed, remote } of plan.kept) {
    const isSent = remote.role === 'sent'
    if ((indexed.role === 'sent') === isSent) continue
    let after: DirectionsPosition | null = null
    do {
      const page: { after: DirectionsPosition | null; limit: number } = {
        after,
        limit: DIRECTIONS_PER_TRANSACTION,
      }
      after = await underFence(session, (unit, account) =>
        recordDirections(unit, account, { id: indexed.id, isSent }, page),
      )
      session.progressed()
    } while (after !== null)
  }
}

function roleOf(text: string): MailboxRole {
  return MAILBOX_ROLES.find(role => role === text) ?? 'custom'
}

const URGENCY: readonly MailboxRole[] = [
  'inbox',
  'sent',
  'drafts',
  'important',
  'custom',
  'archive',
  'all',
  'junk',
  'trash',
]

function urgency({ mailbox }: RemoteSource): number {
  return URGENCY.indexOf(mailbox.role)
}

/**
 * Deletes what is missing and turned up nowhere, and the mailboxes that vanished with it.
 * @param look what was missing before it has no place; null when that is not sure, and only what has been missing for a
 *   minute is given up
 */
export async function settleMissing(
  session: Session,
  vanished: readonly IndexedMailbox[],
  look: number | null,
): Promise<void> {
  const missingBefore = look ?? session.looks.findHeld()
  for (let lost = LOST_PER_TRANSACTION; lost === LOST_PER_TRANSACTION;) {
    lost = await underFence(session, async (unit, account) =>
      account.hasMissing ? recordLost(unit, account, missingBefore, LOST_PER_TRANSACTION) : 0,
    )
    session.progressed()
  }
  if (vanished.length > 0) {
    await underFence(session, (unit, account) => recordVanishedMailboxes(unit, account, vanished))
  }
}

/** @returns the number of the look that begins */
export async function startLook({ db, owned, looks }: Session): Promise<number> {
  const look = await beginLook(db, owned)
  looks.began(look)
  return look
}
