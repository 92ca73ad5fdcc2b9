import { sql } from 'kysely'
import { blobKey } from '../../src/kit/blobs/blob-key.ts'
import { callerOf } from '../caller.ts'
import { calendarFeedOf } from '../calendars/calendar-feed.ts'
import { readAllEvents } from '../calendars/folded-feed.ts'
import { tablesWith } from '../database-text.ts'
import { runWaxwing } from '../service-process.ts'
import { readStates } from '../sending/written-states.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import type { Bed } from './bed.ts'
import { readOwners, readStaleWrites, readTransitions } from './capture.ts'
import type { ComparedAccount } from './clients/client-run.ts'
import type { RunEndpoint } from './clients/edit-endpoints.ts'
import type {
  AcceptedMessage,
  Bounds,
  CalendarState,
  ContactState,
  DeletedAccount,
  EndState,
  EndpointState,
  InvitationState,
  MailboxState,
  OutboxState,
  Resources,
  WindowsState,
} from './evidence.ts'
import { entriesOf, type History } from './history.ts'
import type { Leaver } from './leavers.ts'
import type { Snapshot } from './snapshot.ts'
import { claims, compareAccount, compareCalendars, compareContacts } from './settle.ts'
import { listTimesAhead } from './times-ahead.ts'

const IN_FLIGHT_MAX = 16
const REST_SECONDS_MAX = 60
/** A process lets go of a deleted account long before this. */
const LEAVE_SECONDS_MAX = 60
/** A busy machine may take Redis to be gone for a while. */
const COUNTED_SECONDS_MAX = 60

/** Reads how everything stands at the end of a run. */
export async function collectEnd(
  bed: Bed,
  {
    accounts,
    endpoints,
    leavers,
    countedKey,
    before,
    neighbours,
    bounds,
    history,
  }: {
    accounts: readonly ComparedAccount[]
    endpoints: readonly RunEndpoint[]
    leavers: readonly Leaver[]
    /** A key of a tenant with a limit that it is far from. */
    countedKey: string
    before: Snapshot
    neighbours: EndState['neighbours']
    bounds: Bounds
    history: History
  },
): Promise<EndState> {
  const { tenantId } = bed
  const { db } = bed.database
  const deleted = await readDeleted(bed, leavers, history)
  await bed.sessions.end()
  const compared = []
  for (const account of accounts) compared.push({ account, ...(await compareAccount(bed, account)) })
  const contacts = await collectContacts(bed, accounts, before)
  const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
  const { rows: events } = await sql<EndState['events'][number]>`
    select id::text, type, account_id as "accountId", extract(epoch from created_at)::float8 * 1000 as "createdAt"
    from event where tenant_id = ${tenantId} order by event.id
  `.execute(db)
  const followers = bed.slots.filter(({ roles }) => roles.includes('sync'))
  return {
    events,
    feed: (await readFeed(caller)).events,
    endpoints: await readEndpoints(bed, endpoints),
    deliveries: await readDeliveries(bed, endpoints),
    outbox: await readOutbox(bed),
    accepted: await readAccepted(bed, leavers),
    mailboxes: compared.map(({ account, index, truth, state }): MailboxState => {
      const was = before.states.get(account.id)
      if (!was) throw new Error('There is an account that was not there before')
      return { accountId: account.id, index, truth, before: was, after: state, afterEventId: before.eventId }
    }),
    contacts,
    calendars: await collectCalendars(bed, accounts, before),
    invitations: await readInvitations(bed),
    flags: compared.flatMap(({ account, mailboxes }) =>
      mailboxes.flatMap(({ messages }) =>
        messages.map(({ subject, flags }) => ({
          accountId: account.id,
          subject: subject ?? '',
          isRead: flags.includes('\\Seen'),
          isFlagged: flags.includes('\\Flagged'),
        })),
      ),
    ),
    owners: await readOwners(db, tenantId),
    staleWrites: await readStaleWrites(db),
    transitions: await readTransitions(db, tenantId),
    outboxStates: await readStates(db),
    audit: await readAudit(bed),
    resources: await readResources(bed, countedKey),
    deleted,
    windows: await readWindows(bed, countedKey),
    loneFollower: followers.length === 1 ? (followers[0]?.name ?? null) : null,
    neighbours,
    timesAhead: await listTimesAhead(db),
    bounds,
  }
}

async function collectContacts(
  bed: Bed,
  accounts: readonly ComparedAccount[],
  before: Snapshot,
): Promise<ContactState[]> {
  const states: ContactState[] = []
  for (const account of accounts) {
    const compared = await compareContacts(bed, account)
    const was = before.contacts.get(account.id)
    if (!compared || !was) continue
    const { index, truth, contacts: after } = compared
    states.push({ accountId: account.id, index, truth, before: was, after, afterEventId: before.eventId })
  }
  return states
}

async function collectCalendars(
  bed: Bed,
  accounts: readonly ComparedAccount[],
  { calendars, cursor }: Snapshot,
): Promise<CalendarState[]> {
  const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
  const states: CalendarState[] = []
  for (const account of accounts) {
    const { id: accountId } = account
    const compared = await compareCalendars(bed, account)
    const before = calendars.get(accountId)
    if (!compared || !before) continue
    const after = await readAllEvents(caller, accountId)
    states.push({
      accountId,
      ...compared,
      before,
      after,
      feed: await calendarFeedOf(caller, accountId, cursor),
    })
  }
  return states
}

async function readInvitations({ database: { db }, tenantId }: Bed): Promise<InvitationState[]> {
  const { rows } = await sql<InvitationState>`
    select event_id as "eventId" from outbox where tenant_id = ${tenantId} and origin = 'invitation'
  `.execute(db)
  return rows
}

/** Reads the messages that were accepted, but for those of accounts that were deleted. */
async function readAccepted({ sink, office }: Bed, leavers: readonly Leaver[]): Promise<AcceptedMessage[]> {
  const addresses = new Set(leavers.map(({ user }) => user.email))
  const bySink = (await sink.accepted()).filter(({ from }) => !addresses.has(from))
  return [
    ...bySink.map(({ messageId }) => ({ messageId, by: 'the SMTP server' as const })),
    ...(await office.accepted()).map(messageId => ({ messageId, by: 'Microsoft Graph' as const })),
  ]
}

/** Reads what is left of the accounts whose deletion was acknowledged. */
async function readDeleted(
  { database: { db }, sink, sessions }: Bed,
  leavers: readonly Leaver[],
  { entries }: History,
): Promise<DeletedAccount[]> {
  const ids = new Set(entriesOf(entries, 'deletion').map(({ accountId }) => accountId))
  const gone = leavers.filter(({ id }) => ids.has(id))
  const isLeft = async () => gone.every(({ user }) => !sessions.followed().has(user.user))
  await waitUntil('deleted accounts to be left', isLeft, LEAVE_SECONDS_MAX).catch(() => null)
  const accepted = await sink.accepted()
  const read = gone.map(async ({ id, user, word }): Promise<DeletedAccount> => {
    const { rows } = await sql<{ type: string }>`
      select type from event where account_id = ${id} or data->>'accountId' = ${id} order by event.id
    `.execute(db)
    return {
      accountId: id,
      tablesLeft: await tablesWith(db, word),
      acceptedCount: accepted.filter(({ from }) => from === user.email).length,
      events: rows.map(({ type }) => type),
      isFollowed: sessions.followed().has(user.user),
    }
  })
  return Promise.all(read)
}

/** Whether every process that answers counts requests again. */
async function readWindows({ stores, addresses }: Bed, countedKey: string): Promise<WindowsState> {
  const counting = addresses().map(address => {
    const isCounted = async () =>
      (await callerOf(address, countedKey).get('/v1/accounts')).headers.has('ratelimit-limit')
    return waitUntil('requests to be counted', isCounted, COUNTED_SECONDS_MAX).catch(() => false)
  })
  const keeper = stores ? 'redis' : addresses().length > 1 ? 'table' : 'memory'
  return { keeper, isCounted: (await Promise.all(counting)).every(Boolean) }
}

async function readEndpoints({ database: { db } }: Bed, endpoints: readonly RunEndpoint[]) {
  const { rows } = await sql<{ id: string; createdAt: number; fromEventId: string; isEnabled: boolean }>`
    select id, extract(epoch from created_at)::float8 * 1000 as "createdAt", from_event_id::text as "fromEventId",
      is_enabled as "isEnabled"
    from webhook_endpoint
  `.execute(db)
  return rows.flatMap(({ id, ...row }): EndpointState[] => {
    const endpoint = endpoints.find(one => one.id === id)
    return endpoint ? [{ ...row, name: endpoint.name, isSteady: !endpoint.wasDisabled }] : []
  })
}

async function readDeliveries({ database: { db } }: Bed, endpoints: readonly RunEndpoint[]) {
  const names = new Map(endpoints.map(({ id, name }) => [id, name]))
  const { rows } = await sql<{ endpointId: string; eventId: string; isDue: boolean }>`
    select endpoint_id as "endpointId", event_id::text as "eventId", due_at is not null as "isDue"
    from webhook_delivery
  `.execute(db)
  return rows.map(({ endpointId, eventId, isDue }) => ({
    endpoint: names.get(endpointId) ?? endpointId,
    eventId,
    isDue,
  }))
}

async function readOutbox({ database: { db }, tenantId }: Bed): Promise<OutboxState[]> {
  const { rows } = await sql<OutboxState>`
    select id, coalesce(subject, '') as key, internet_message_id as "internetMessageId", status,
      error_reason as reason, handed_over_at is not null as "wasHandedOver", task is not null or due_at is not null as "isBusy"
    from outbox where tenant_id = ${tenantId} order by created_at
  `.execute(db)
  return rows
}

async function readAudit({ database: { db }, env }: Bed): Promise<EndState['audit']> {
  const { rows } = await sql<{ requestId: string; status: number }>`
    select request_id as "requestId", status from audit_entry
    union all select request_id, status from audit_open
  `.execute(db)
  const { code, stdout } = await runWaxwing(['audit', 'verify', '--json'], { env })
  if (code !== 0 && code !== 2) throw new Error(`The audit log could not be verified: ${stdout}`)
  return { rows, findings: code === 0 ? 0 : 1 }
}

async function readResources(bed: Bed, countedKey: string): Promise<Resources> {
  const inFlight = await countAllInFlight(bed, [bed.key, countedKey])
  const count = async (query: string) => {
    const { rows } = await sql<{ count: string }>`${sql.raw(query)}`.execute(bed.database.db)
    return Number(rows[0]?.count)
  }
  /** A count of things that come and go is zero at some moment; a count of leftovers never is. */
  const leastOf = async (look: () => Promise<number>) => {
    let found = Infinity
    const isNone = async () => (found = Math.min(found, await look())) === 0
    await waitUntil('nothing', isNone, REST_SECONDS_MAX).catch(() => null)
    return found
  }
  const least = (query: string) => leastOf(() => count(query))
  const { rows: dead } = await sql<{ place: string }>`
    select place from (${sql.raw(claims())}) as claim (place, instance_id)
    where not exists (select from instance where id = instance_id and heartbeat_until > clock_timestamp())
  `.execute(bed.database.db)
  return {
    advisoryLocks: await least(`select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2`),
    preparedTransactions: await count('select count(*) from pg_prepared_xacts'),
    openTransactions: await least(`select count(*) from pg_stat_activity
      where state like 'idle in transaction%' and state_change < clock_timestamp() - interval '5 seconds'`),
    deadClaims: dead.map(({ place }) => `a row of ${place}`),
    orphanFiles: await findOrphanFiles(bed),
    activeAccounts: await count(
      `select count(*) from account where status = 'active' and deleted_at is null`,
    ),
    processes: await Promise.all(bed.slots.map(slot => slot.state())),
    inFlight,
    leftInRedis: await leastOf(async () => (await bed.stores?.countInProgress()) ?? 0),
  }
}

/** Without Redis, each process counts the requests that it has in flight. */
async function countAllInFlight(
  { slots, stores }: Bed,
  keys: readonly string[],
): Promise<Resources['inFlight']> {
  const answering = slots.filter(({ address }) => address !== null)
  const counted: Resources['inFlight'] = []
  for (const { address, processName } of stores ? answering.slice(0, 1) : answering) {
    for (const key of keys)
      counted.push({
        process: processName,
        allowed: IN_FLIGHT_MAX,
        accepted: await countInFlight(address ?? '', key),
      })
  }
  return counted
}

/** Opens as many requests as one key may have in flight, which all wait, and counts those that were let in. */
async function countInFlight(address: string, key: string): Promise<number> {
  const caller = callerOf(address, key)
  const { body } = await caller.get<{ nextCursor: string }>('/v1/changes?start=now')
  const path = `/v1/changes?waitSeconds=1&cursor=${encodeURIComponent(body.nextCursor)}`
  let accepted = 0
  const isFree = async () => {
    const answers = await Promise.all(Array.from({ length: IN_FLIGHT_MAX }, () => caller.get(path)))
    accepted = Math.max(accepted, answers.filter(({ status }) => status === 200).length)
    return accepted === IN_FLIGHT_MAX
  }
  await waitUntil('all to be let in', isFree, REST_SECONDS_MAX).catch(() => null)
  return accepted
}

async function findOrphanFiles({ database: { db }, listStored }: Bed): Promise<string[]> {
  const { rows } = await sql<Parameters<typeof blobKey>[0]>`
    select id, tenant_id, account_id from message_blob
  `.execute(db)
  const known = new Set(rows.map(blobKey))
  return (await listStored()).filter(name => !known.has(name) && isOfAccount(name))
}

/** Heads of the audit log and the mark of the installation are beside the stored messages. */
function isOfAccount(name: string): boolean {
  return /^[0-9a-f]{8}-/.test(name)
}
