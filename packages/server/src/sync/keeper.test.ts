import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { LogServer, logMail } from '../../test/memory-log.ts'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { Db } from '../database/pool.ts'
import { inTransaction } from '../events/unit-of-work.ts'
import { reachedAs } from '../accounts/reach.ts'
import { findAccount } from '../accounts/store.ts'
import { recordChangedFlags } from '../features/mail/messages/record-changed-flags.ts'
import type { FormerLocation } from '../features/mail/messages/record-new-locations.ts'
import { newId } from '../kit/ids.ts'
import { silentLog } from '../kit/log.ts'
import type { ConnectedAccount, Offering } from '../providers/connected-account.ts'
import type { MailProvider, RemoteFlags, SourceStep } from '../providers/mail.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { HostBudget } from '../connections/host-budget.ts'
import type { Keeper } from './keeper.ts'
import { keepMail } from '../../test/keep-mail.ts'
import { pause } from '../processes/nudge.ts'
import { type ClaimedAccount, claimAccounts, type OwnedAccount } from '../accounts/halves/ownership.ts'
import { type MailFollower, openMailFollower } from '../features/mail/following/follower.ts'
import { Ramp } from './ramp.ts'
import { BulkPermits, BulkRequest } from './bulk-permits.ts'
import { addHalves } from '../../test/halves.ts'

const SITES = [
  'connectorOf',
  'connect',
  'listMailboxes',
  'hasChanged',
  'compare',
  'a step of compare',
  'arrivals',
  'a step of arrivals',
  'isComplete',
  'locate',
  'watch',
  'dispose',
] as const
type Site = (typeof SITES)[number]
/** Which calls fail, one an account; a scenario makes each at least so often, but for the few named here. */
const NTH = [1, 3]
const TURNS = 2
const ROUNDS_MAX = 10

interface Trial {
  site: Site
  nth: number
  owned: OwnedAccount
  server: MemoryServer
  keeper: Keeper
  hasFailed(): boolean
}

test('whichever call of a provider fails, its account comes through the next pass, and nothing stays taken', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const failures = SITES.flatMap(site => NTH.map(nth => ({ site, nth })))
  const accounts = await ownAccounts(db, failures.length)
  const [budget, bulkPermits] = [new HostBudget(failures.length), new BulkPermits(TURNS)]
  await using follower = openMailFollower({ db, log: silentLog })
  const open = { count: 0 }
  const trials = failures.map((failure, index) =>
    begin(db, accounts[index]!, failure, { budget, bulkPermits, follower, open }),
  )

  await settled(db, trials)
  for (const { server } of trials) disturb(server)
  await settled(db, trials)
  // What is called rarely is called again and again until it had its turn to fail.
  for (let round = 0; trials.some(({ hasFailed }) => !hasFailed()); round++) {
    const rest = trials.filter(({ hasFailed }) => !hasFailed())
    expect(round).toBeLessThan(ROUNDS_MAX)
    for (const { server, keeper } of rest) {
      const copied = server.get('INBOX').messages[round]!
      server.deliver('Work', copied.content, copied.receivedAt, { isRead: copied.isRead })
      keeper.find('mail')!.restart()
    }
    await settled(db, rest)
  }
  for (const { server } of trials) server.deliver('Work', 'at last', new Date(1.8e12))
  await settled(db, trials)

  await Promise.all(trials.map(({ keeper }) => keeper[Symbol.asyncDispose]()))
  expect(open.count).toBe(0)
  expect(budget.heldCount).toBe(0)
  const never = new AbortController().signal
  const free = await Promise.all(
    Array.from({ length: TURNS }, () => bulkPermits.acquire(new BulkRequest('another tenant'), 1, never)),
  )
  expect(free).not.toContain(null)
})

/** Follows an account at a server that allows one connection at a time. */
function follow(
  db: Db,
  owned: ClaimedAccount,
  { budget, follower }: Pick<Resources, 'budget' | 'follower'>,
  connect: () => ConnectedAccount,
  stallSeconds = 60,
): Keeper {
  return keepMail(owned, {
    db,
    connectorOf: () => async () => ({
      version: await findVersion(db, owned),
      host: 'memory.test',
      syncWindowDays: null,
      isOneAtATime: true,
      acquire: signal => budget.acquire('memory.test', signal),
      connect: async () => connect(),
    }),
    bulkPermits: new BulkPermits(TURNS),
    ramp: new Ramp(),
    follower,
    log: silentLog,
    pollSeconds: 0.2,
    stallSeconds,
    refusalSeconds: 600,
  })
}

async function findVersion(db: Db, owned: OwnedAccount): Promise<string> {
  const account = await findAccount(db, owned.tenantId, owned.id)
  if (!account) throw new Error('The account is gone')
  return reachedAs(account).version
}

const readAccount = (db: Db, { id }: OwnedAccount) =>
  db
    .selectFrom('account')
    .innerJoin('account_half', 'account_half.account_id', 'account.id')
    .select(['status', 'status_reason', 'runtime_state', 'runtime_detail', 'initialized_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()

test.each([
  ['is no longer valid', 'grant_refused', 'invalid_grant'],
  ['does not allow mail', 'scope_missing', 'scope_missing'],
] as const)('stops an account at once when its provider says that the grant %s', async (_, kind, reason) => {
  await using database = await openTestDatabase()
  const { db } = database
  const [owned] = await ownAccounts(db, 1)
  await using follower = openMailFollower({ db, log: silentLog })
  await using keeper = follow(db, owned!, { budget: new HostBudget(1), follower }, () => {
    throw new ProviderFailure(kind, 'The grant was revoked, or it is too little.')
  })
  await keeper.finished
  expect(await readAccount(db, owned!)).toMatchObject({ status: 'reauth_required', status_reason: reason })
})

test('waits for a quota without holding what others need, and without taking it for a stall', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const [throttled, other] = await ownAccounts(db, 2)
  await using follower = openMailFollower({ db, log: silentLog })
  const resources = { budget: new HostBudget(1), follower }
  let asked = 0
  const connect = () => {
    asked++
    throw new ProviderFailure('throttled', 'Slow down.', { retryAfterSeconds: 600 })
  }
  await using waiting = follow(db, throttled!, resources, connect, 0.5)
  const isWaiting = async () => {
    const { runtime_state: state, runtime_detail: detail } = await readAccount(db, throttled!)
    return state === 'backoff' && detail?.includes('Slow down.')
  }
  await waitUntil('the account to wait', isWaiting)

  const server = furnish()
  await using _other = follow(db, other!, resources, () => memoryMail(server))
  await waitUntil('the other account', async () => (await readAccount(db, other!)).runtime_state === 'live')
  expect(waiting.owned).toBe(throttled)
  expect(asked).toBe(1)
  const { runtime_detail: detail } = await readAccount(db, throttled!)
  expect(detail).toContain('Slow down.')
})

test('begins a pass when the interface changes what is read of the inbox, over the same connection', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const [owned] = await ownAccounts(db, 1)
  const server = new LogServer('labels')
  const inbox = server.create('INBOX', 'inbox')
  const message = server.deliver([inbox.key], 'content', new Date(1.7e12))
  const at = { source: server.sourceOf(inbox.key), key: message.id }
  let connections = 0
  let state: 'live' | 'noticed' | 'changing' | 'changed' = 'live'
  const connect = (): ConnectedAccount => {
    connections++
    const { mail, ...others } = logMail(server)
    const watch: MailProvider['watch'] = async () => {
      if (state !== 'live') return { arrived: false, changed: false, gone: false }
      state = 'noticed'
      message.isRead = true
      server.touch(message)
      return { arrived: false, changed: true, gone: false }
    }
    async function* compare(...given: Parameters<MailProvider['compare']>): AsyncGenerator<SourceStep> {
      for await (const step of mail.compare(...given)) {
        if (state === 'noticed') {
          state = 'changing'
          message.isFlagged = true
          await changeFlags(db, owned!, at, message)
          state = 'changed'
        }
        yield step
      }
    }
    return { ...others, mail: { ...mail, watch, compare } }
  }
  await using follower = openMailFollower({ db, log: silentLog })
  await using _keeper = follow(db, owned!, { budget: new HostBudget(1), follower }, connect)

  await waitUntil('the change to be looked at again', async () => {
    const marks = await db.selectFrom('changed_key').select('mark').execute()
    return state === 'changed' && marks.length === 0
  })
  expect(await db.selectFrom('message').select(['is_read', 'is_flagged']).execute()).toEqual([
    { is_read: true, is_flagged: true },
  ])
  expect(connections).toBe(1)
})

/** Records flags as an operation does after it has changed them. */
function changeFlags(db: Db, { id, tenantId }: OwnedAccount, at: FormerLocation, flags: RemoteFlags) {
  return inTransaction(db, tenantId, async unit => {
    const row = await db.selectFrom('message').select('id').executeTakeFirstOrThrow()
    await recordChangedFlags(unit, id, [{ messageId: row.id, at, flags }])
  })
}

function furnish(): MemoryServer {
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  server.create('Work')
  for (let number = 0; number < 20; number++)
    server.deliver('INBOX', `inbox ${number}`, new Date(1.7e12 + number))
  for (let number = 0; number < 5; number++)
    server.deliver('Work', `work ${number}`, new Date(1.7e12 + number))
  return server
}

function disturb(server: MemoryServer): void {
  const [first, second, third] = server.get('INBOX').messages
  if (!first || !second || !third) throw new Error('the inbox is empty')
  server.move('INBOX', first, 'Work')
  server.expunge('INBOX', second)
  third.isRead = true
  // A copy: only the server can tell that the original did not move.
  server.deliver('Work', third.content, third.receivedAt, { isRead: true })
  server.deliver('INBOX', 'new', new Date(1.71e12))
}

interface Resources {
  budget: HostBudget
  bulkPermits: BulkPermits
  follower: MailFollower
  open: { count: number }
}

function begin(
  db: Db,
  owned: ClaimedAccount,
  { site, nth }: { site: Site; nth: number },
  { budget, bulkPermits, follower, open }: Resources,
): Trial {
  const server = furnish()
  let calls = 0
  const call = (name: Site) => {
    if (name !== site || ++calls !== nth) return
    // Every other time it is a fault of ours rather than of the provider.
    throw nth === 3 ? new TypeError('a bug') : new ProviderFailure('unavailable', `${site} failed`)
  }
  const keeper = keepMail(owned, {
    db,
    connectorOf: () => async () => {
      call('connectorOf')
      return {
        version: '1',
        host: 'memory.test',
        syncWindowDays: null,
        isOneAtATime: true,
        acquire: signal => budget.acquire('memory.test', signal),
        async connect() {
          call('connect')
          open.count++
          return failing(memoryMail(server), call, () => open.count--)
        },
      }
    },
    bulkPermits,
    ramp: new Ramp(),
    follower,
    log: silentLog,
    pollSeconds: 0.2,
    stallSeconds: 60,
    refusalSeconds: 600,
  })
  return { site, nth, owned, server, keeper, hasFailed: () => calls >= nth }
}

/** The same provider, which reports each call before it is made. */
function failing(
  account: Offering<'mail'>,
  call: (site: Site) => void,
  onClosed: () => void,
): ConnectedAccount {
  const provider = account.mail
  async function* steps(items: AsyncIterable<SourceStep>, site: Site): AsyncGenerator<SourceStep> {
    for await (const step of items) {
      call(site)
      yield step
    }
  }
  const mail: MailProvider = {
    ...provider,
    async listMailboxes() {
      call('listMailboxes')
      return provider.listMailboxes()
    },
    hasChanged(mailbox, cursor) {
      call('hasChanged')
      return provider.hasChanged(mailbox, cursor)
    },
    compare(source, options) {
      call('compare')
      return steps(provider.compare(source, options), 'a step of compare')
    },
    arrivals(source, options) {
      call('arrivals')
      return steps(provider.arrivals(source, options), 'a step of arrivals')
    },
    isComplete(cursor, since) {
      call('isComplete')
      return provider.isComplete(cursor, since)
    },
    async locate(at, keys) {
      call('locate')
      return provider.locate(at, keys)
    },
    async watch(_source, seconds, signal) {
      call('watch')
      await pause(seconds * 1_000, signal)
      return { arrived: false, changed: false, gone: false }
    },
  }
  return {
    mail,
    async [Symbol.asyncDispose]() {
      onClosed()
      await account[Symbol.asyncDispose]()
      call('dispose')
    },
  }
}

/** Waits until the index holds what each server holds. Waits after failures are cut short. */
async function settled(db: Db, trials: readonly Trial[]): Promise<void> {
  const behind = new Set(trials)
  await waitUntil('every account to come through', async () => {
    for (const trial of behind) {
      const held = await readIndex(db, trial.owned.id)
      if (held === readServer(trial.server)) behind.delete(trial)
      else trial.keeper.find('mail')!.nudge.fire()
    }
    return behind.size === 0
  }).catch((error: unknown) => {
    throw new Error([...behind].map(({ site, nth }) => `${site} ${nth}`).join(), { cause: error })
  })
}

async function readIndex(db: Db, accountId: string): Promise<string | null> {
  const { rows } = await sql<{ subject: string; path: string; is_read: boolean; is_complete: boolean }>`
    select message.subject, path, is_read, initialized_at is not null as is_complete
    from message join mailbox on mailbox.id = any(mailbox_ids) join account_half on account_half.account_id = message.account_id
    where message.account_id = ${accountId} and missing_look is null
  `.execute(db)
  if (!rows[0]?.is_complete) return null
  return rows
    .map(row => `${row.path} ${row.subject} ${row.is_read}`)
    .toSorted()
    .join('\n')
}

function readServer(server: MemoryServer): string {
  return [...server.mailboxes.values()]
    .flatMap(({ path, messages }) => messages.map(({ content, isRead }) => `${path} ${content} ${isRead}`))
    .toSorted()
    .join('\n')
}

/** Accounts that are owned by an instance which this test plays. */
async function ownAccounts(db: Db, count: number): Promise<ClaimedAccount[]> {
  const [tenantId, instanceId] = [newId(), newId()]
  await db.insertInto('tenant').values({ id: tenantId, name: tenantId, settings: '{}' }).execute()
  const rows = Array.from({ length: count }, (_, number) => ({
    id: newId(),
    tenant_id: tenantId,
    provider: 'imap' as const,
    email: `${number}@memory.test`,
    auth_method: 'password' as const,
  }))
  await db.insertInto('account').values(rows).execute()
  await addHalves(db)
  const heartbeat_until = new Date(Date.now() + 600_000)
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
  return claimAccounts(db, instanceId, count)
}
