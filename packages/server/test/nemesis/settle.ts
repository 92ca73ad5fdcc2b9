import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { callerOf } from '../caller.ts'
import { readContacts } from '../contacts/carddav-account.ts'
import { readTakingPlace } from '../calendars/caldav-account.ts'
import { lineOf } from '../calendars/folded-feed.ts'
import { makeTaskDue } from '../make-task-due.ts'
import { passTime } from '../notifications/open-webhooks.ts'
import { hurry } from '../sending/killable-sending.ts'
import { readMailboxes, readMessages } from '../sync/followed-account.ts'
import type { IndexState } from '../sync/fold-feed.ts'
import { describeIndex, describeTruth } from '../sync/rest.ts'
import { waitUntil } from '../wait-until.ts'
import type { Bed } from './bed.ts'
import { describeContact } from './cards.ts'
import type { ComparedAccount, RunAccount } from './clients/client-run.ts'
import type { RunEndpoint } from './clients/edit-endpoints.ts'
import { inBatchesOf } from './in-batches.ts'

const AT_ONCE = 6
/** Between two looks, in which the service is asked to sync and everything that waits becomes due. */
const HURRY_SECONDS = 2
/** Longer than any pause of a delivery. */
const DELIVERY_SECONDS = 86_400

/** Work that is still to be done, in words; empty once everything is at rest. */
export type Unsettled = string[]

/**
 * Waits until nothing is left to do: mailboxes equal their providers, sends and deliveries have ended, and claims of dead
 * processes are gone. Returns what is still open after that time, which the checks then judge.
 */
export async function settle(
  bed: Bed,
  { accounts, endpoints }: { accounts: readonly ComparedAccount[]; endpoints: readonly RunEndpoint[] },
  secondsMax: number,
): Promise<Unsettled> {
  let open: Unsettled = ['everything']
  let hurriedAt = 0
  const isSettled = async () => {
    if (performance.now() - hurriedAt > HURRY_SECONDS * 1_000) {
      await hurryAll(bed, accounts, endpoints)
      hurriedAt = performance.now()
    }
    open = await findUnsettled(bed.database.db).catch(error => [String(error)])
    if (open.length === 0) open = await findDiffering(bed, accounts).catch(error => [String(error)])
    return open.length === 0
  }
  await waitUntil('everything to be at rest', isSettled, secondsMax).catch(() => null)
  return open
}

async function hurryAll(
  { database: { db, pool }, addresses, key }: Bed,
  accounts: readonly RunAccount[],
  endpoints: readonly RunEndpoint[],
): Promise<void> {
  const [address = ''] = addresses()
  await hurry(db)
  await sql`
    update account set purge_after = clock_timestamp()
    where purge_after > clock_timestamp() and purge_failures > 0
  `.execute(db)
  await sql`
    update calendar_intent set leased_until = clock_timestamp() where leased_until > clock_timestamp()
  `.execute(db)
  await makeTaskDue(pool, 'purge_accounts').catch(() => {})
  for (const { id } of endpoints) await passTime(db, id, DELIVERY_SECONDS).catch(() => {})
  await inBatchesOf(AT_ONCE, accounts, async ({ id }) => {
    await callerOf(address, key)
      .post(`/v1/accounts/${id}/sync`)
      .catch(() => {})
  })
}

/** Counts of rows for which something is to be done. */
const WAITING: Readonly<Record<string, string>> = {
  'sends that wait': `select count(*) from outbox where task is not null or due_at is not null or status = 'sending'`,
  'deliveries that wait': `select count(*) from webhook_delivery
    join webhook_endpoint on id = endpoint_id and is_enabled where due_at is not null`,
  'events that no follower has read': `select count(*) from event_follower where after_id < (
    select coalesce(max(id), 0) from event where event.tenant_id = event_follower.tenant_id)`,
  'rows of the audit log that wait for their chain': 'select count(*) from audit_open',
  'accounts that nobody follows': `select count(*) from account left join instance on instance.id = owner_instance
    where status = 'active' and deleted_at is null and (heartbeat_until is null or heartbeat_until < clock_timestamp())`,
  'accounts that are not active': `select count(*) from account where status <> 'active' and deleted_at is null`,
  'accounts that wait for their purge': `select count(*) from account
    where deleted_at is not null and purged_at is null`,
  'writes of calendars that are not finished': 'select count(*) from calendar_intent',
  'claims of dead processes': `select count(*) from (${claims()}) as claim (place, instance_id)
    where not exists (select from instance where id = instance_id and heartbeat_until > clock_timestamp())`,
}

/** Every row that a process claims, with its table. */
export function claims(): string {
  const columns = [
    ['outbox', 'claimed_by'],
    ['outbox', 'task_by'],
    ['job', 'claimed_by'],
    ['recurring_task', 'claimed_by'],
    ['pending_answer', 'claimed_by'],
    ['pending_invitation', 'claimed_by'],
    ['webhook_dispatch', 'owner'],
    ['account', 'owner_instance'],
  ]
  return columns
    .map(([table, column]) => `select '${table}', ${column} from ${table} where ${column} is not null`)
    .join(' union all ')
}

async function findUnsettled(db: Db): Promise<Unsettled> {
  const open: Unsettled = []
  for (const [what, query] of Object.entries(WAITING)) {
    const { rows } = await sql<{ count: string }>`${sql.raw(query)}`.execute(db)
    const count = Number(rows[0]?.count)
    if (count > 0) open.push(`${count} ${what}`)
  }
  return open
}

async function findDiffering(bed: Bed, accounts: readonly ComparedAccount[]): Promise<Unsettled> {
  const differing = await inBatchesOf(AT_ONCE, accounts, async account => {
    const { index, truth } = await compareAccount(bed, account)
    const contacts = await compareContacts(bed, account)
    const calendars = await compareCalendars(bed, account)
    return [
      ...(index.join('\n') === truth.join('\n') ? [] : [`${account.user.user} differs from its provider`]),
      ...(!contacts || contacts.index.join('\n') === contacts.truth.join('\n')
        ? []
        : [`the contacts of ${account.user.user} differ from their server`]),
      ...(!calendars || calendars.index.join('\n') === calendars.truth.join('\n')
        ? []
        : [`the calendars of ${account.user.user} differ from their server`]),
    ]
  })
  return differing.flat()
}

/** The index of an account and what its provider has, in the same words. */
export async function compareAccount(bed: Bed, { id, readTruth }: ComparedAccount) {
  const mailboxes = await readTruth()
  const state = await readIndex(bed, id)
  return { truth: describeTruth(mailboxes), index: describeIndex(state), mailboxes, state }
}

/** The contacts of an account and the cards of its address book, in the same words. Null if it has none. */
export async function compareContacts(bed: Bed, { id, book }: ComparedAccount) {
  if (!book) return null
  const truth = await book.readCards()
  const contacts = await readContactsOf(bed, id)
  return { truth, index: [...contacts.values()].map(describeContact).toSorted(), contacts }
}

/** Events of an account that take place, in the index and at the provider. Null if it has none. */
export async function compareCalendars({ addresses, key }: Bed, { id, calendars }: ComparedAccount) {
  if (!calendars) return null
  const truth = await calendars.list()
  const events = await readTakingPlace(callerOf(addresses()[0] ?? '', key), id)
  return { truth, index: events.map(lineOf).toSorted() }
}

export async function readContactsOf(
  { addresses, key }: Bed,
  accountId: string,
): Promise<Map<string, Contact>> {
  const contacts = await readContacts(callerOf(addresses()[0] ?? '', key), accountId)
  return new Map(contacts.map(contact => [contact.id, contact]))
}

export async function readIndex({ addresses, key }: Bed, accountId: string): Promise<IndexState> {
  const caller = callerOf(addresses()[0] ?? '', key)
  const mailboxes = await readMailboxes(caller, accountId)
  const messages = await readMessages(caller, accountId)
  return {
    mailboxes: new Map(mailboxes.map(mailbox => [mailbox.id, mailbox])),
    messages: new Map(messages.map(message => [message.id, message])),
  }
}
