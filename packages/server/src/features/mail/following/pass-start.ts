import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../../../database/tables.ts'
import type { IndexedMailbox } from '../mailboxes/rules.ts'
import { indexedColumns, listIndexedMailboxes, withCursor } from '../mailboxes/store.ts'
import { FenceLost, isOwned, type OwnedAccount } from '../../../accounts/halves/ownership.ts'
import { takingWanted, type Wanted, wantedColumns } from '../../../accounts/halves/wanted.ts'
import { isDue } from './quarantine.ts'

/** Work that earlier passes have left. */
export interface Unfinished {
  /**
   * Sources that hold a message which is due for another try, messages that wait to be recognised, or changed keys.
   */
  sources: ReadonlySet<string>
  /** Whether any message is missing. */
  hasMissing: boolean
  /** Messages that could not be read. */
  unreadable: number
}

/** State of the index when a pass begins. */
export interface PassStart {
  mailboxes: IndexedMailbox[]
  unfinished: Unfinished
}

type UnfinishedRow = Omit<Unfinished, 'sources'> & { sources: string[] }

/** An account without mailboxes has one row, with null for everything of the mailbox, `account_id` included. */
type StartRow = Wanted & UnfinishedRow & IndexedMailbox & { account_id: string | null }

/**
 * Combines `takeWanted` with reading the start of the pass in one statement, since most passes find nothing new and
 * need no other.
 * @throws FenceLost
 */
export async function beginPass(
  db: Kysely<Tables>,
  owned: OwnedAccount,
): Promise<Wanted & { start: PassStart }> {
  const { rows } = await sql<StartRow>`
    with ${takingWanted(owned, 'mail')}, unfinished as (select ${unfinishedOf(owned.id)})
    select ${wantedColumns}, unfinished.*, indexed.*
    from account_half cross join unfinished
    left join (select mailbox.account_id, ${indexedColumns} from mailbox ${withCursor}) as indexed
      on indexed.account_id = account_half.account_id
    where ${isOwned(owned, 'mail')} order by indexed.path
  `.execute(db)
  const [first] = rows
  if (!first) throw new FenceLost(owned.id)
  const { wanted, isInitialized } = first
  const mailboxes = first.account_id === null ? [] : rows.map(mailboxOf)
  return { wanted, isInitialized, start: { mailboxes, unfinished: presentUnfinished(first) } }
}

function mailboxOf({
  wanted: _wanted,
  isInitialized: _isInitialized,
  sources: _sources,
  hasMissing: _hasMissing,
  unreadable: _unreadable,
  account_id: _accountId,
  ...mailbox
}: StartRow): IndexedMailbox {
  return mailbox
}

export async function readStart(db: Kysely<Tables>, accountId: string): Promise<PassStart> {
  const mailboxes = await listIndexedMailboxes(db, accountId)
  return { mailboxes, unfinished: await findUnfinished(db, accountId) }
}

export async function findUnfinished(db: Kysely<Tables>, accountId: string): Promise<Unfinished> {
  const { rows } = await sql<UnfinishedRow>`select ${unfinishedOf(accountId)}`.execute(db)
  return presentUnfinished(rows[0]!)
}

function presentUnfinished({ sources, hasMissing, unreadable }: UnfinishedRow): Unfinished {
  return { sources: new Set(sources), hasMissing, unreadable }
}

function unfinishedOf(accountId: string): RawBuilder<UnfinishedRow> {
  return sql`
    array(
      select source from quarantined_message where account_id = ${accountId} and ${isDue}
      union
      select source from changed_key where account_id = ${accountId}
      union
      select mailbox.source from message
      join message_mailbox as held on held.message_id = message.id
      join mailbox on mailbox.id = held.mailbox_id
      where message.account_id = ${accountId} and missing_look = 'infinity' and uid is null
        and mailbox.source is not null
    ) as sources,
    exists (select from message where account_id = ${accountId} and missing_look is not null
      and (kept_until is null or kept_until < clock_timestamp())) as "hasMissing",
    (select count(*)::int from quarantined_message where account_id = ${accountId}) as unreadable`
}
