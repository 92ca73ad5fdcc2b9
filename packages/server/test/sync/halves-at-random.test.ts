/** @module-tag postgres-16 */
import { DatabaseError } from 'pg'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { askWithinChange } from '../../src/accounts/ask-for-sync.ts'
import {
  claimAccounts,
  FenceLost,
  type OwnedAccount,
  releaseAccounts,
  releaseOfDead,
} from '../../src/accounts/halves/ownership.ts'
import { recordRuntime } from '../../src/accounts/halves/report.ts'
import { takeAttention, takeWanted } from '../../src/accounts/halves/wanted.ts'
import { recordArrivals } from '../../src/features/mail/messages/record-arrivals.ts'
import { findLockedMailAccount } from '../../src/features/mail/messages/record-account.ts'
import { recordChangedFlags } from '../../src/features/mail/messages/record-changed-flags.ts'
import { newId } from '../../src/kit/ids.ts'
import { completeFirstSync } from '../../src/features/mail/following/first-sync.ts'
import { fenceAccount } from '../../src/features/mail/following/fence.ts'
import { MemoryServer, memoryMail } from '../memory-mail.ts'
import { openSession } from '../memory-account.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn } from '../sample-rows.ts'
import { type Random, seeded } from '../seeded.ts'
import { arrivalFrom } from './arrival.ts'

const SEEDS = [1, 2, 3]
const ACCOUNTS = 3
const ACTORS = 10
const ACTS = 25

interface Arranged {
  id: string
  mailbox: { id: string; key: string; role: 'inbox' }
  messageId: string
}

interface World {
  app: TestApp
  instances: string[]
  accounts: Arranged[]
  /** Ownerships of accounts, the latest of each last. Earlier ones are those of processes that slept. */
  owned: OwnedAccount[]
  steps: number
  hasEnded: boolean
}

type Act = (world: World, account: Arranged, random: Random) => Promise<unknown>

const ofFollower =
  (act: (world: World, owned: OwnedAccount, account: Arranged, random: Random) => Promise<unknown>): Act =>
  async (world, account, random) => {
    const held = world.owned.filter(({ id }) => id === account.id).slice(-3)
    if (held.length > 0) await act(world, random.pick(held), account, random)
  }

const change = (world: World, account: Arranged, fields: unknown) =>
  expectAnswer(world.app.patch(`/v1/accounts/${account.id}`, fields))

const ACTS_BY_NAME: Record<string, Act> = {
  'a step': ofFollower(async (world, owned, { mailbox }, random) => {
    await inTransaction(world.app.db, world.app.tenantId, async unit => {
      const { account } = await fenceAccount(unit, owned, [])
      const arrival = arrivalFrom('eve@example.com', mailbox, random.between(1, 2 ** 30))
      await recordArrivals(unit, account, [arrival], true)
    })
    world.steps++
  }),
  'the end of a first sync': ofFollower(async ({ app }, owned) => {
    await sql`update account_half set initialized_at = null where account_id = ${owned.id}`.execute(app.db)
    await completeFirstSync(await openSession(app.db, owned, memoryMail(new MemoryServer()).mail))
  }),
  'a report': ofFollower(({ app }, owned, _, random) =>
    recordRuntime(app.db, owned, 'mail', {
      state: random.pick(['live', 'syncing', 'backoff']),
      detail: null,
      isSuccess: random.chance(0.5),
    }),
  ),
  'what is wanted': ofFollower(({ app }, owned) => takeWanted(app.db, owned, 'mail')),
  attention: ({ app, instances }, _, random) => takeAttention(app.db, random.pick(instances), ['mail']),
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
    expectAnswer(app.patch('/v1/settings', { undoSendSeconds: random.between(0, 20), bodyStorage: 'none' })),
  'a request for a pass': ({ app }, { id }) => expectAnswer(app.post(`/v1/accounts/${id}/sync`, {})),
  claims: async ({ app, instances, owned }, _, random) =>
    void owned.push(...(await claimAccounts(app.db, random.pick(instances), ACCOUNTS))),
  releases: ({ app, owned }) => releaseAccounts(app.db, owned.slice(-ACCOUNTS)),
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

const STEP = ACTS_BY_NAME['a step']!

/** Every answer is one that a client may get of an account that others change, or that is deleted. */
async function expectAnswer(answer: Promise<{ status: number; body: unknown }>): Promise<void> {
  const { status, body } = await answer
  expect([200, 202, 204, 400, 404, 409, 429], JSON.stringify(body)).toContain(status)
}

async function openWorld(): Promise<World & AsyncDisposable> {
  const app = await openTestApp()
  const instances = [newId(), newId()]
  for (const id of instances)
    await app.db
      .insertInto('instance')
      .values({ id, heartbeat_until: sql`clock_timestamp() + interval '50 seconds'` })
      .execute()
  const accounts: Arranged[] = []
  for (let nth = 0; nth < ACCOUNTS; nth++) {
    const account = await sampleAccount(app.db, app.tenantId)
    const { id, path } = await sampleMailbox(app.db, account, { role: 'inbox' })
    const messageId = await sampleMessageIn(app.db, account, id)
    accounts.push({ id: account.id, mailbox: { id, key: path, role: 'inbox' }, messageId })
  }
  const owned = await claimAccounts(app.db, instances[0]!, ACCOUNTS)
  const world = { app, instances, accounts, owned, steps: 0, hasEnded: false }
  return { ...world, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

test.each(SEEDS)(
  'steps, changes, claims and deletions at random never deadlock, and nothing follows a deletion (seed %s)',
  async seed => {
    await using world = await openWorld()
    const { app, accounts } = world
    const actor = async (random: Random) => {
      for (let nth = 0; nth < ACTS; nth++) {
        const act = random.chance(0.2) ? STEP : random.pick(Object.values(ACTS_BY_NAME))
        try {
          await act(world, random.pick(accounts), random)
        } catch (error) {
          if (!(error instanceof FenceLost)) throw error
        }
      }
    }
    const deleting = async () => {
      for (const { id } of accounts.slice(1)) {
        const before = world.steps
        while (world.steps < before + 5 && !world.hasEnded)
          await new Promise(resolve => setImmediate(resolve))
        await expectAnswer(app.delete(`/v1/accounts/${id}`))
      }
    }
    const acting = Promise.all(
      Array.from({ length: ACTORS }, (_, nth) => actor(seeded(`${seed}/${nth}`))),
    ).finally(() => (world.hasEnded = true))
    const [acted, deleted] = await Promise.allSettled([acting, deleting()])
    for (const { reason } of [acted, deleted].filter(result => result.status === 'rejected'))
      throw reason instanceof DatabaseError
        ? new Error(`${reason.code}: ${reason.message}`, { cause: reason })
        : reason

    expect(world.steps).toBeGreaterThan(0)
    const { rows } = await sql<{ account: string; last: string }>`
      select distinct on (account_id) account_id as account, type as last from event
      where account_id = any(${accounts.map(({ id }) => id)}::uuid[]) order by account_id, id desc
    `.execute(app.db)
    const last = new Map(rows.map(row => [row.account, row.last]))
    for (const { id } of accounts.slice(1)) expect(last.get(id)).toBe('account.deleted')
    const { rows: halves } = await sql`
      select from account_half join account on account.id = account_id
      where account_half.owner_instance is distinct from
          case when status = 'active' and deleted_at is null then account.owner_instance end
        or (account_half.owner_instance is not null and account_half.owner_epoch <> account.owner_epoch)
    `.execute(app.db)
    expect(halves).toEqual([])
  },
)
