import { sql } from 'kysely'
import type { OtherKind } from '../src/accounts/halves/kind.ts'
import { SWITCHES } from '../src/accounts/halves/kind.ts'
import { recordReachChanged } from '../src/accounts/halves/reach.ts'
import type { Db } from '../src/database/pool.ts'
import { inTransaction } from '../src/events/unit-of-work.ts'
import { NO_LIMITS } from '../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../src/features/tenancy/plans/store.ts'
import { newId } from '../src/kit/ids.ts'
import { silentLog } from '../src/kit/log.ts'
import { Instance } from '../src/processes/instance.ts'
import { Pulse } from '../src/processes/pulse.ts'
import type { ConnectedAccount } from '../src/providers/connected-account.ts'
import { type FailureKind, ProviderFailure } from '../src/providers/failure.ts'
import { SyncEngine } from '../src/sync/engine.ts'
import type { Follower } from '../src/sync/follower.ts'
import { addHalf } from './halves.ts'
import { openTestDatabase } from './open-database.ts'
import { sampleAccount, sampleGrant, sampleTenant } from './sample-rows.ts'
import { waitUntil } from './wait-until.ts'

const PERMIT = { isWanted: false, onWanted() {}, [Symbol.dispose]() {} }
const LOOK_SECONDS = 0.3

/** A provider in memory, which is asked for one kind of data. */
interface Memory {
  onAwait: () => void | Promise<void>
}

export interface LookingProcess {
  kind: OtherKind
  memory: Memory
  /** Capabilities of a connection to the provider. */
  offered(): Omit<ConnectedAccount, typeof Symbol.asyncDispose>
  followerOf(db: Db, lookSeconds: number): Follower
  isOn?: boolean
  /** The plan has these modules. Null: all. */
  modules?: [] | null
  /** The URL of the DAV server; null: the data comes with the mailbox. */
  home?: string | null
  scopes?: readonly string[] | null
}

/** A process that follows one kind of data of one account by looks. */
export async function openLookingProcess({
  kind,
  memory,
  offered,
  followerOf,
  isOn = true,
  modules = null,
  home = null,
  scopes = null,
}: LookingProcess) {
  await using opened = new AsyncDisposableStack()
  const { db, address } = opened.use(await openTestDatabase())
  const tenant = await sampleTenant(db)
  const assign = async (included: [] | null) => {
    const plan = await createPlan(db, newId(), { ...NO_LIMITS, modules: included })
    await db.updateTable('tenant').set({ plan_id: plan!.id }).where('id', '=', tenant.id).execute()
  }
  if (modules) await assign(modules)
  const settingsOf = (value: boolean) => JSON.stringify({ [SWITCHES[kind]]: value })
  const account = await sampleAccount(db, tenant.id, {
    ...(home === null
      ? ({ provider: 'gmail', auth_method: 'oauth', imap: null } as const)
      : { imap: serversWith(kind, home) }),
    settings_override: settingsOf(isOn),
  })
  if (scopes) await sampleGrant(db, account.id, scopes)
  await addHalf(db, account.id, kind)
  const facts = { roles: ['sync'], host: 'test', version: '0.0.0' }
  const instance = opened.use(await Instance.start({ address, log: silentLog, facts, isAlone: false }))
  const trouble: { kind: FailureKind | null } = { kind: null }
  memory.onAwait = () => {
    if (trouble.kind) throw new ProviderFailure(trouble.kind, 'No.')
  }
  opened.use(
    await SyncEngine.start({
      db,
      instance,
      pulse: opened.use(new Pulse(db, silentLog, 0.1)),
      connectorOf: () => async () => ({
        version: '1',
        host: 'memory.test',
        syncWindowDays: null,
        isOneAtATime: false,
        acquire: async () => PERMIT,
        connect: async () => ({ ...offered(), [Symbol.asyncDispose]: async () => {} }),
      }),
      followers: [followerOf(db, LOOK_SECONDS)],
      log: silentLog,
      pollSeconds: 0.2,
      refusalSeconds: 0.2,
    }),
  )
  const half = async () => {
    const { rows } = await sql<{
      state: string
      detail: string | null
      problem: string | null
      isBehind: boolean
      isInitialized: boolean
      status: string
    }>`
      select runtime_state as state, runtime_detail as detail, problem, behind_since is not null as "isBehind",
        initialized_at is not null as "isInitialized", status
      from account_half join account on account.id = account_id where kind = ${kind}`.execute(db)
    return rows[0]!
  }
  /** Changes the account as the interface does, which restarts the half. */
  const change = (set: { settings_override?: string; imap?: string }) =>
    inTransaction(db, tenant.id, async unit => {
      await unit.sql.updateTable('account').set(set).execute()
      await recordReachChanged(unit, [account.id], [kind])
    })
  const owned = opened.move()
  return {
    db,
    accountId: account.id,
    trouble,
    half,
    assign,
    awaitState: (state: string) =>
      waitUntil(`the half to be ${state}`, async () => (await half()).state === state),
    awaitProblem: (problem: string | null) =>
      waitUntil(`the problem to be ${problem}`, async () => (await half()).problem === problem),
    turnOn: (value: boolean) => change({ settings_override: settingsOf(value) }),
    moveTo: (next: string | null) => change({ imap: serversWith(kind, next) }),
    async signInAgain(granted: readonly string[]) {
      await inTransaction(db, tenant.id, async unit => {
        await sampleGrant(unit.sql, account.id, granted)
        await recordReachChanged(unit, [account.id], [kind])
      })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function serversWith(kind: OtherKind, home: string | null): string {
  const urls = { calendarUrl: null, contactsUrl: null, [`${kind}Url`]: home }
  return JSON.stringify({
    imap: { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada' },
    smtp: null,
    auth: 'password',
    appendSent: true,
    dav: home && { ...urls, user: 'ada', auth: 'imap_password' },
  })
}
