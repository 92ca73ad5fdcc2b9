import { sql } from 'kysely'
import type { AccountView } from '../accounts/account.ts'
import { findAccountView } from '../accounts/store.ts'
import { findStorageRoom } from '../plans/store.ts'
import { Refusal } from '../refuse.ts'
import { summaryColumns } from './present.ts'
import { openSource } from './source.ts'
import { type FullRow } from './store.ts'
import { type SourceContext, STORED_BYTES_MAX } from './stored-source.ts'

/** Of one account before it is another's turn. */
const TURN_BYTES_MAX = 16 * 1024 * 1024
const TURN_MESSAGES_MAX = 200
/** The next run, a minute after the last one began, goes on. */
const RUN_SECONDS_MAX = 45
/** So often every message of an account is looked at that once was complete; in between those of the last day. */
const WHOLE_LOOK_MINUTES = 60
const NEWS_HOURS = 24

/** Where the backfill of one account stands. */
interface Stand {
  /** Changes with the settings of the account. */
  version: string
  /** Goes on below it; null: from the newest on. */
  below: { receivedAt: Date; id: string } | null
  /** When it last came to the end of the whole account. */
  completeAt: number | null
  /** Whether every message is looked at, or those of the last day. */
  isWhole: boolean
  /** Whether it came to the end. */
  isDone: boolean
  /** The size of a message that the plan had no room for; it waits for so much, and begins anew. */
  neededBytes: number
}

/**
 * Stores the source of every indexed message of the accounts whose `bodyStorage` is `full`, newest first, a message at a
 * time and the accounts in turns. The returned function is one run of it; what it remembers only saves queries.
 */
export function createBackfill(context: SourceContext): (signal: AbortSignal) => Promise<void> {
  const stands = new Map<string, Stand>()
  return async signal => {
    const until = performance.now() + RUN_SECONDS_MAX * 1000
    const isOver = () => signal.aborted || performance.now() > until
    let open = await listFullAccounts(context)
    for (const id of stands.keys()) if (!open.some(account => account.id === id)) stands.delete(id)
    for (const account of open) stands.set(account.id, beginRun(stands.get(account.id), account))
    while (open.length > 0 && !isOver()) {
      const left: AccountView[] = []
      for (const account of open) {
        const stand = stands.get(account.id)
        if (isOver() || !stand) break
        const outcome = await takeTurn(context, account, stand, isOver)
        if (outcome === 'more') left.push(account)
      }
      open = left
    }
  }
}

function beginRun(before: Stand | undefined, account: AccountView): Stand {
  const version = `${account.updated_at.toISOString()} ${account.tenant_settings.bodyStorage}`
  const known = before?.version === version ? before : null
  // A look that was broken off by the end of the run goes on.
  if (known && !known.isDone) return known
  const completeAt = known?.completeAt ?? null
  const isWhole = completeAt === null || Date.now() - completeAt > WHOLE_LOOK_MINUTES * 60_000
  return { version, below: null, completeAt, isWhole, isDone: false, neededBytes: 0 }
}

/** Accounts that can be reached and whose first sync is complete. */
async function listFullAccounts({ db }: SourceContext): Promise<AccountView[]> {
  const { rows } = await sql<{ id: string; tenant_id: string }>`
    select account.id, account.tenant_id from account join tenant on tenant.id = account.tenant_id
    where account.deleted_at is null and account.status = 'active' and account.initialized_at is not null
      and tenant.suspended_at is null
      and coalesce(account.settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'full'
    order by account.id
  `.execute(db)
  const views: AccountView[] = []
  for (const row of rows) {
    const view = await findAccountView(db, row.tenant_id, row.id)
    if (view) views.push(view)
  }
  return views
}

async function takeTurn(
  context: SourceContext,
  account: AccountView,
  stand: Stand,
  isOver: () => boolean,
): Promise<'more' | 'done' | 'failed' | 'full'> {
  let bytes = 0
  let room = await findStorageRoom(context.db, account.tenant_id)
  if (room < stand.neededBytes) return 'full'
  stand.neededBytes = 0
  const messages = await listUnstored(context, account.id, stand)
  for (const message of messages) {
    if (isOver() || bytes > TURN_BYTES_MAX) return 'more'
    // Files are smaller than what they hold, so it is looked again before it is given up.
    if (message.size > room) room = await findStorageRoom(context.db, account.tenant_id)
    if (message.size > room) {
      const { tenant_id: tenantId, id: accountId } = account
      context.services.log.info({ tenantId, accountId }, 'No more bodies are stored: the plan has no room')
      Object.assign(stand, { below: null, neededBytes: message.size })
      return 'full'
    }
    room -= message.size
    const stored = await store(context, account, message)
    stand.below = { receivedAt: message.received_at, id: message.id }
    // The next run goes on behind it, so that one message keeps no other; the next look at the whole tries it again.
    if (stored === null) return 'failed'
    bytes += stored
  }
  if (messages.length === TURN_MESSAGES_MAX) return 'more'
  stand.isDone = true
  if (stand.isWhole) stand.completeAt = Date.now()
  return 'done'
}

/** Messages without stored content, from where the account stands on. */
async function listUnstored({ db }: SourceContext, accountId: string, stand: Stand): Promise<FullRow[]> {
  const { below, isWhole } = stand
  const { rows } = await sql<FullRow>`
    select ${summaryColumns}, bcc, reply_to, size::float8 as size, false as is_renumbered from message
    where account_id = ${accountId} and not is_draft and missing_since is null and size <= ${STORED_BYTES_MAX}
      and (${isWhole} or received_at > clock_timestamp() - make_interval(hours => ${NEWS_HOURS}))
      and (${below === null} or (received_at, id) < (${below?.receivedAt ?? null}, ${below?.id ?? null}))
      and not exists (select from message_blob where message_id = message.id)
    order by received_at desc, id desc limit ${TURN_MESSAGES_MAX}
  `.execute(db)
  return rows
}

/** @returns the octets that were read; null where the account cannot be reached */
async function store(context: SourceContext, account: AccountView, message: FullRow): Promise<number | null> {
  let bytes = 0
  try {
    for await (const piece of await openSource(context, account, message)) bytes += piece.length
    return bytes
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.reason === 'provider_not_found') return bytes
    context.services.log.info({ accountId: account.id, reason: error.reason }, 'Bodies cannot be stored now')
    return null
  }
}
