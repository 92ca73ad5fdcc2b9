import { sql } from 'kysely'
import { expect } from 'vitest'
import { askWithinChange } from '../../src/accounts/ask-for-sync.ts'
import type { HalfKind } from '../../src/accounts/halves/kind.ts'
import { holdingOwned } from '../../src/accounts/halves/lock.ts'
import { recordPushed } from '../../src/accounts/halves/notice.ts'
import {
  claimAccounts,
  FenceLost,
  type OwnedAccount,
  releaseAccounts,
  releaseOfDead,
} from '../../src/accounts/halves/ownership.ts'
import { holdAccount, recordInitialized } from '../../src/accounts/halves/progress.ts'
import { recordRuntime } from '../../src/accounts/halves/report.ts'
import { takeAttention, takeWanted } from '../../src/accounts/halves/wanted.ts'
import { reachedAs } from '../../src/accounts/reach.ts'
import { findAccount, lockAccount, updateAccount } from '../../src/accounts/store.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { completeFirstSync } from '../../src/features/mail/following/first-sync.ts'
import { fenceAccount } from '../../src/features/mail/following/fence.ts'
import { findLockedMailAccount } from '../../src/features/mail/messages/record-account.ts'
import { recordArrivals } from '../../src/features/mail/messages/record-arrivals.ts'
import { recordChangedFlags } from '../../src/features/mail/messages/record-changed-flags.ts'
import { newId } from '../../src/kit/ids.ts'
import { recordClosed, recordProblem, recordRefusedGrant } from '../../src/sync/trouble.ts'
import { addHalf } from '../halves.ts'
import { openSession } from '../memory-account.ts'
import { MemoryServer, memoryMail } from '../memory-mail.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn } from '../sample-rows.ts'
import type { Random } from '../seeded.ts'
import { arrivalFrom } from './arrival.ts'

const ACCOUNTS = 3
const KINDS: readonly HalfKind[] = ['mail', 'calendar']
const DAV = {
  calendarUrl: 'https://dav.example.com/',
  contactsUrl: null,
  user: 'ada@example.com',
  auth: 'imap_password',
}

export interface Arranged {
  id: string
  mailbox: { id: string; key: string; role: 'inbox' }
  messageId: string
}

export interface World {
  app: TestApp
  instances: string[]
  accounts: Arranged[]
  /** Ownerships of accounts, the latest of each last. Earlier ones are those of processes that slept. */
  owned: OwnedAccount[]
  steps: number
  hasEnded: boolean
}

export type Act = (world: World, account: Arranged, random: Random) => Promise<unknown>

const ofFollower =
  (act: (world: World, owned: OwnedAccount, account: Arranged, random: Random) => Promise<unknown>): Act =>
  async (world, account, random) => {
    const held = world.owned.filter(({ id }) => id === account.id).slice(-3)
    if (held.length > 0) await act(world, random.pick(held), account, random)
  }

const change = (world: World, account: Arranged, fields: unknown) =>
  expectAnswer(world.app.patch(`/v1/accounts/${account.id}`, fields))

/** Mostly the kind whose trouble leaves the account active. */
const pickTroubled = (random: Random) => (random.chance(0.1) ? 'mail' : 'calendar')

const ACTS_BY_NAME: Record<string, Act> = {
  'a step': ofFollower(async (world, owned, { mailbox }, random) => {
    await inTransaction(world.app.db, world.app.tenantId, async unit => {
      const { account } = await fenceAccount(unit, owned, [])
      const arrival = arrivalFrom('eve@example.com', mailbox, random.between(1, 2 ** 30))
      await recordArrivals(unit, account, [arrival], true)
    })
    world.steps++
  }),
  'a step of calendars': ofFollower(async ({ app }, owned) =>
    inTransaction(app.db, app.tenantId, async unit => {
      const { rows } = await holdingOwned(owned, 'calendar').execute(unit.sql)
      if (rows.length === 0) throw new FenceLost(owned.id)
      unit.announce({ type: 'account.initialized', accountId: owned.id, data: { mailboxes: 0, messages: 0 } })
    }),
  ),
  'the end of a first sync of calendars': ofFollower(async ({ app }, owned) =>
    inTransaction(app.db, app.tenantId, async unit => {
      await holdAccount(unit, owned.id)
      const { rows } = await holdingOwned(owned, 'calendar').execute(unit.sql)
      if (rows.length === 0) throw new FenceLost(owned.id)
      await recordInitialized(unit, owned.id, 'calendar')
    }),
  ),
  'the end of a first sync': ofFollower(async ({ app }, owned) => {
    await sql`
      update account_half set initialized_at = null where account_id = ${owned.id} and kind = 'mail'`.execute(
      app.db,
    )
    await completeFirstSync(await openSession(app.db, owned, memoryMail(new MemoryServer()).mail))
  }),
  'a report': ofFollower(({ app }, owned, _, random) =>
    recordRuntime(app.db, owned, random.pick(KINDS), {
      state: random.pick(['live', 'syncing', 'backoff']),
      detail: null,
      isSuccess: random.chance(0.5),
    }),
  ),
  'taking the wants': ofFollower(({ app }, owned, _, random) =>
    takeWanted(app.db, owned, random.pick(KINDS)),
  ),
  'a push': ({ app }, { id }, random) => recordPushed(app.db, random.pick(KINDS), sql`account.id = ${id}`),
  attention: ({ app, instances }, _, random) =>
    takeAttention(app.db, random.pick(instances), random.chance(0.5) ? KINDS : [random.pick(KINDS)]),
  'a change of a message, and a pass for it': ({ app }, { id, messageId, mailbox }, random) =>
    inTransaction(app.db, app.tenantId, async unit => {
      const account = await findLockedMailAccount(unit, id)
      if (!account) return
      const flags = { isRead: random.chance(0.5), isFlagged: false, isDraft: false, categories: [] }
      await recordChangedFlags(unit, id, [{ messageId, flags, at: { source: mailbox.key, key: 1 } }])
      await askWithinChange(unit.sql, { id, tenant_id: app.tenantId }, 'mail')
    }),
  'an identity': ({ app }, { id }, random) =>
    expectAnswer(
      app.post(`/v1/accounts/${id}/identities`, { address: `${random.between(1, 9)}@example.com` }),
    ),
  'a pause': (world, account) => change(world, account, { status: 'paused' }),
  'an end of a pause': (world, account) => change(world, account, { status: 'active' }),
  settings: (world, account, random) =>
    change(world, account, { settings: { syncWindowDays: random.between(1, 365) } }),
  'settings of the tenant': ({ app }, _, random) =>
    expectAnswer(
      app.patch('/v1/settings', {
        undoSendSeconds: random.between(0, 20),
        bodyStorage: random.pick(['none', 'cache']),
        calendarEnabled: random.chance(0.5),
      }),
    ),
  'a refused grant': ofFollower(async ({ app }, owned, { id }, random) => {
    const account = await findAccount(app.db, app.tenantId, id)
    if (!account) return
    const reason = random.pick(['login_failed', 'scope_missing', 'invalid_grant'] as const)
    const refused = { reason, version: reachedAs(account).version }
    await recordRefusedGrant(app.db, owned, pickTroubled(random), refused)
  }),
  'a closed mailbox': ofFollower(({ app }, owned, _, random) =>
    recordClosed(app.db, owned, pickTroubled(random), null),
  ),
  'a connection': ofFollower(({ app }, owned, _, random) =>
    recordProblem(app.db, owned, { kind: random.pick(KINDS), problem: null }),
  ),
  'another grant': ({ app }, { id }) =>
    inTransaction(app.db, app.tenantId, async unit => {
      const before = await lockAccount(unit, id)
      if (!before || before.status === 'active') return
      await updateAccount(unit, before, { status: 'active', status_reason: null }, { reachedAnew: KINDS })
    }),
  'a request for a pass': ({ app }, { id }) => expectAnswer(app.post(`/v1/accounts/${id}/sync`, {})),
  claims: async ({ app, instances, owned }, _, random) =>
    void owned.push(...(await claimAccounts(app.db, random.pick(instances), ACCOUNTS))),
  releases: ({ app, owned }, _, random) => releaseAccounts(app.db, owned.slice(-random.between(1, ACCOUNTS))),
  'a takeover': async ({ app, instances, owned }, _, random) => {
    const [id] = [random.pick(instances)]
    const until = (seconds: number) =>
      sql`update instance set heartbeat_until = clock_timestamp() + make_interval(secs => ${seconds})
        where id = ${id}`.execute(app.db)
    await until(-1)
    await releaseOfDead(app.db)
    await until(50)
    owned.push(...(await claimAccounts(app.db, random.pick(instances), ACCOUNTS)))
  },
}

export const STEP = ACTS_BY_NAME['a step']!
/** Acts after which an account is followed again. */
export const RECOVERIES = ['another grant', 'claims'].map(name => ACTS_BY_NAME[name]!)
export const ACTS = Object.values(ACTS_BY_NAME)

/** Every answer is one that a client may get of an account that others change, or that is deleted. */
export async function expectAnswer(answer: Promise<{ status: number; body: unknown }>): Promise<void> {
  const { status, body } = await answer
  expect([200, 202, 204, 400, 404, 409, 429], JSON.stringify(body)).toContain(status)
}

export async function openWorld(): Promise<World & AsyncDisposable> {
  const app = await openTestApp()
  const instances = [newId(), newId()]
  for (const id of instances)
    await app.db
      .insertInto('instance')
      .values({ id, heartbeat_until: sql`clock_timestamp() + interval '50 seconds'` })
      .execute()
  const accounts: Arranged[] = []
  for (let nth = 0; nth < ACCOUNTS; nth++) {
    // The tenant's settings affect different halves of the first account.
    const override = { syncWindowDays: null, ...(nth === 0 && { bodyStorage: 'cache' }) }
    const account = await sampleAccount(app.db, app.tenantId, { settings_override: JSON.stringify(override) })
    await sql`
      update account set imap = jsonb_set(imap, '{dav}', ${JSON.stringify(DAV)}::jsonb) where id = ${account.id}
    `.execute(app.db)
    await addHalf(app.db, account.id, 'calendar', [])
    const { id, path } = await sampleMailbox(app.db, account, { role: 'inbox' })
    const messageId = await sampleMessageIn(app.db, account, id)
    accounts.push({ id: account.id, mailbox: { id, key: path, role: 'inbox' }, messageId })
  }
  const owned = await claimAccounts(app.db, instances[0]!, ACCOUNTS)
  const world = { app, instances, accounts, owned, steps: 0, hasEnded: false }
  return { ...world, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}
