import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { MessageKey, RemoteFlags } from '../../../providers/mail.ts'
import { announceUpdated, type Changes } from './announce.ts'
import { remoteIdsOf } from './location.ts'
import { toState } from './message-row.ts'
import { type HeldMessage, lockHeld, type Rewriting, rewriteHeld, rowOf } from './record-known.ts'
import { type FollowedSource, isDraftIn, type MailAccount, type PlacedMailbox } from './rules.ts'

/** New state of a message. Flags or mailboxes are null if they did not change. */
export interface StateChange {
  key: MessageKey
  flags: RemoteFlags | null
  /** All that it is in. */
  mailboxes: readonly PlacedMailbox[] | null
}

/**
 * Records flags and mailboxes as the provider has them. Messages that read the same already, or are not indexed, are
 * left alone.
 */
export async function recordStates(
  unit: UnitOfWork,
  account: MailAccount,
  { mailboxes }: FollowedSource,
  changes: readonly StateChange[],
): Promise<void> {
  const numbered = changes.flatMap(({ key, flags }) =>
    typeof key === 'number' && flags ? [{ uid: key, flags }] : [],
  )
  const [mailbox] = mailboxes
  const changed: Changes = new Map([
    ...(mailbox && numbered.length > 0 ? await recordFlags(unit, mailbox, numbered) : []),
    ...(await recordLasting(unit, account, changes)),
  ])
  if (account.isInitialized) await announceUpdated(unit, account, changed)
}

async function recordLasting(
  unit: UnitOfWork,
  account: MailAccount,
  changes: readonly StateChange[],
): Promise<Changes> {
  const held = await lockHeld(unit, account, remoteIdsOf(changes.map(({ key }) => key)))
  const pairs = [...new Map(changes.map(change => [change.key, change])).values()].flatMap(
    (change): Rewriting[] => {
      const row = held.get(String(change.key))
      if (!row) return []
      return [
        { held: row, next: { ...rowOf(row), ...stateOf(account, row, change) }, location: { uid: null } },
      ]
    },
  )
  return rewriteHeld(unit, account, pairs)
}

function stateOf(account: MailAccount, row: HeldMessage, { flags, mailboxes }: StateChange) {
  const told = flags ?? {
    isRead: row.is_read,
    isFlagged: row.is_flagged,
    isDraft: row.is_draft,
    categories: row.categories,
  }
  const state = toState(account, { ...told, from: row.from }, mailboxes ?? [])
  const { mailbox_ids, direction } = mailboxes ? state : row
  return { ...state, mailbox_ids, direction, draft_key: state.is_draft ? row.draft_key : null }
}

interface FlagRow {
  id: string
  read_changed: boolean
  flagged_changed: boolean
  draft_changed: boolean
  categories_changed: boolean
}

async function recordFlags(
  unit: UnitOfWork,
  mailbox: PlacedMailbox,
  changes: ReadonlyArray<{ uid: number; flags: RemoteFlags }>,
): Promise<Changes> {
  const wanted = changes.map(({ uid, flags }) => ({
    uid,
    is_read: flags.isRead,
    is_flagged: flags.isFlagged,
    is_draft: isDraftIn([mailbox], flags.isDraft),
    categories: flags.categories.toSorted(),
  }))
  const { rows } = await sql<FlagRow>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(wanted)}::json)
        as wanted (uid bigint, is_read boolean, is_flagged boolean, is_draft boolean, categories text[])
    ), before as (
      select message.id, message.is_read, message.is_flagged, message.is_draft, message.categories, wanted.uid
      from wanted
      join message_mailbox as held on held.mailbox_id = ${mailbox.id} and held.uid = wanted.uid
      join message on message.id = held.message_id
      where (message.is_read, message.is_flagged, message.is_draft, message.categories)
        is distinct from (wanted.is_read, wanted.is_flagged, wanted.is_draft, wanted.categories)
      for update of message
    )
    update message set is_read = wanted.is_read, is_flagged = wanted.is_flagged, is_draft = wanted.is_draft,
      categories = wanted.categories
    from before join wanted using (uid)
    where message.id = before.id
    returning message.id,
      before.is_read <> wanted.is_read as read_changed,
      before.is_flagged <> wanted.is_flagged as flagged_changed,
      before.is_draft <> wanted.is_draft as draft_changed,
      before.categories <> wanted.categories as categories_changed
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.id, changedFields(row)]))
}

function changedFields(row: FlagRow): MessageChange[] {
  const changed: MessageChange[] = []
  if (row.read_changed) changed.push('isRead')
  if (row.flagged_changed) changed.push('isFlagged')
  if (row.draft_changed) changed.push('isDraft')
  if (row.categories_changed) changed.push('categories')
  return changed
}
