import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { addHalf } from '../../../../test/halves.ts'
import { readContactFeed } from '../../../../test/memory-contact-account.ts'
import { MemoryBooks } from '../../../../test/memory-contacts.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleGrant, sampleTenant } from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { recordReachChanged } from '../../../accounts/halves/reach.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { silentLog } from '../../../kit/log.ts'
import { Instance } from '../../../processes/instance.ts'
import { Pulse } from '../../../processes/pulse.ts'
import { type FailureKind, ProviderFailure } from '../../../providers/failure.ts'
import { SyncEngine } from '../../../sync/engine.ts'
import { NO_LIMITS } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { openContactsFollower } from './follower.ts'

const PERMIT = { isWanted: false, onWanted() {}, [Symbol.dispose]() {} }
const LOOK_SECONDS = 0.3

const serversWith = (contactsUrl: string | null) =>
  JSON.stringify({
    imap: { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada' },
    smtp: null,
    auth: 'password',
    appendSent: true,
    dav: contactsUrl && { calendarUrl: null, contactsUrl, user: 'ada', auth: 'imap_password' },
  })

/** A process that follows the contacts of one account. */
async function openProcess({
  isOn = true,
  modules = null as [] | null,
  home = null as string | null,
  scopes = null as readonly string[] | null,
} = {}) {
  await using opened = new AsyncDisposableStack()
  const { db, address } = opened.use(await openTestDatabase())
  const tenant = await sampleTenant(db)
  const assign = async (included: [] | null) => {
    const plan = await createPlan(db, newId(), { ...NO_LIMITS, modules: included })
    await db.updateTable('tenant').set({ plan_id: plan!.id }).where('id', '=', tenant.id).execute()
  }
  if (modules) await assign(modules)
  const account = await sampleAccount(db, tenant.id, {
    ...(home === null
      ? ({ provider: 'gmail', auth_method: 'oauth', imap: null } as const)
      : { imap: serversWith(home) }),
    settings_override: JSON.stringify({ contactsEnabled: isOn }),
  })
  if (scopes) await sampleGrant(db, account.id, scopes)
  await addHalf(db, account.id, 'contacts')
  const books = new MemoryBooks('books')
  const [book = ''] = books.folders.keys()
  books.add(book, { displayName: 'Ada' })
  const facts = { roles: ['sync'], host: 'test', version: '0.0.0' }
  const instance = opened.use(await Instance.start({ address, log: silentLog, facts, isAlone: false }))
  const trouble: { kind: FailureKind | null } = { kind: null }
  books.onAwait = () => {
    if (trouble.kind) throw new ProviderFailure(trouble.kind, 'No.')
  }
  opened.use(
    await SyncEngine.start({
      db,
      instance,
      pulse: opened.use(new Pulse(db, silentLog, 0.1)),
      connectorOf: () => async () => ({
        version: '1',
        host: 'books.test',
        syncWindowDays: null,
        isOneAtATime: false,
        acquire: async () => PERMIT,
        connect: async () => ({ contacts: books.connect(), [Symbol.asyncDispose]: async () => {} }),
      }),
      followers: [openContactsFollower({ db, lookSeconds: LOOK_SECONDS })],
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
      from account_half join account on account.id = account_id where kind = 'contacts'`.execute(db)
    return rows[0]!
  }
  const owned = opened.move()
  return {
    db,
    books,
    book,
    trouble,
    half,
    assign,
    awaitState: (state: string) =>
      waitUntil(`contacts to be ${state}`, async () => (await half()).state === state),
    awaitProblem: (problem: string | null) =>
      waitUntil(`the problem to be ${problem}`, async () => (await half()).problem === problem),
    async turnOn(contactsEnabled: boolean) {
      await inTransaction(db, tenant.id, async unit => {
        await unit.sql
          .updateTable('account')
          .set({ settings_override: JSON.stringify({ contactsEnabled }) })
          .execute()
        await recordReachChanged(unit, [account.id], ['contacts'])
      })
    },
    async signInAgain(granted: readonly string[]) {
      await inTransaction(db, tenant.id, async unit => {
        await sampleGrant(unit.sql, account.id, granted)
        await recordReachChanged(unit, [account.id], ['contacts'])
      })
    },
    async moveTo(next: string | null) {
      await inTransaction(db, tenant.id, async unit => {
        await unit.sql
          .updateTable('account')
          .set({ imap: serversWith(next) })
          .execute()
        await recordReachChanged(unit, [account.id], ['contacts'])
      })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('contacts are read, announced from then on, and looked at again', async () => {
  await using process = await openProcess()
  const { db, books, book, half, awaitState } = process
  await awaitState('live')
  expect(await half()).toMatchObject({ isInitialized: true, isBehind: false, problem: null })
  books.add(book, { displayName: 'Grace' })
  await waitUntil('the new contact', async () => (await readContactFeed(db)).length === 2)
  expect(await readContactFeed(db)).toMatchObject([
    { type: 'contacts.initialized', data: { folders: 1, contacts: 1 } },
    { type: 'contact.created', data: { contact: { displayName: 'Grace' } } },
  ])
})

test('contacts that are switched off rest, and catch up once they are switched on', async () => {
  await using process = await openProcess()
  const { db, books, book, half, awaitState, turnOn } = process
  await awaitState('live')
  await turnOn(false)
  await awaitState('stopped')
  expect(await half()).toMatchObject({ detail: 'contacts are switched off', isBehind: false })
  const calls = books.calls.length
  books.add(book, { displayName: 'Grace' })
  await turnOn(true)
  await waitUntil('the new contact', async () => (await readContactFeed(db)).length === 2)
  expect(books.calls.length).toBeGreaterThan(calls)
})

test('contacts that the plan does not include are not followed until it does', async () => {
  await using process = await openProcess({ modules: [] })
  const { books, half, awaitState, assign } = process
  await awaitState('stopped')
  expect(await half()).toMatchObject({ detail: 'the plan does not include contacts', isBehind: false })
  expect(books.calls).toEqual([])
  await assign(null)
  await awaitState('live')
  await assign([])
  await awaitState('stopped')
})

test('contacts of another home are others, and end with it', async () => {
  await using process = await openProcess({ home: 'https://dav.example.com/one/' })
  const { db, books, book, trouble, half, awaitState, moveTo } = process
  await awaitState('live')
  // No look at the former home finds the contacts of the next one.
  trouble.kind = 'unavailable'
  books.removeFolder(book)
  books.add(books.createFolder('new', true), { displayName: 'Grace' })
  await moveTo('https://dav.example.com/two/')
  trouble.kind = null
  await waitUntil('the next first sync', async () => (await readContactFeed(db)).length === 3)
  await awaitState('live')
  await moveTo(null)
  await awaitState('stopped')
  expect((await half()).isInitialized).toBe(false)
  expect((await readContactFeed(db)).map(({ type, data }) => data.contact?.displayName ?? type)).toEqual([
    'contacts.initialized',
    'Ada',
    'contacts.initialized',
    'Grace',
  ])
  const { rows } = await sql`select from contact_folder`.execute(db)
  expect(rows).toEqual([])
})

test('contacts that the provider does not offer rest, and are no trouble of the account', async () => {
  await using process = await openProcess()
  const { trouble, half, awaitState } = process
  await awaitState('live')
  trouble.kind = 'unsupported'
  await awaitState('stopped')
  expect(await half()).toMatchObject({ detail: 'No.', problem: null, isBehind: false, status: 'active' })
})

test.each<[FailureKind, string]>([
  ['login_failed', 'dav_login_failed'],
  ['scope_missing', 'scope_missing'],
  ['forbidden', 'provider_forbidden'],
  ['not_found', 'provider_not_found'],
])('a failure %s is the problem of the half, and leaves the account active', async (kind, problem) => {
  await using process = await openProcess()
  const { trouble, half, awaitState, awaitProblem, turnOn } = process
  trouble.kind = kind
  await awaitProblem(problem)
  expect((await half()).status).toBe('active')
  await awaitState('backoff')
  trouble.kind = null
  // A refused login is tried again after an hour, or at once when the account changes.
  await turnOn(true)
  await awaitState('live')
  await awaitProblem(null)
})

test('contacts that a new grant does not allow rest with a problem of their own, and go on with the next one', async () => {
  const scope = 'https://www.googleapis.com/auth/contacts'
  await using process = await openProcess({ scopes: [scope] })
  const { books, book, db, half, awaitState, awaitProblem } = process
  await awaitState('live')
  await process.signInAgain(['https://www.googleapis.com/auth/contacts.other.readonly'])
  await awaitProblem('scope_missing')
  expect(await half()).toMatchObject({ state: 'stopped', status: 'active', isBehind: false })
  books.add(book, { displayName: 'Grace' })
  await process.signInAgain([`${scope}.readonly`])
  await awaitState('live')
  await awaitProblem(null)
  await waitUntil('the new contact', async () => (await readContactFeed(db)).length === 2)
})
