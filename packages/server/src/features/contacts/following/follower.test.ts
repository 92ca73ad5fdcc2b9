import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type LookingProcess, openLookingProcess } from '../../../../test/looking-process.ts'
import { readContactFeed } from '../../../../test/memory-contact-account.ts'
import { MemoryBooks } from '../../../../test/memory-contacts.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import type { FailureKind } from '../../../providers/failure.ts'
import { openContactsFollower } from './follower.ts'

/** A process that follows the contacts of one account. */
async function openProcess(given: Pick<LookingProcess, 'modules' | 'home' | 'scopes'> = {}) {
  const books = new MemoryBooks('books')
  const [book = ''] = books.folders.keys()
  books.add(book, { displayName: 'Ada' })
  const process = await openLookingProcess({
    kind: 'contacts',
    memory: books,
    offered: () => ({ contacts: books.connect() }),
    followerOf: (db, lookSeconds) => openContactsFollower({ db, lookSeconds }),
    ...given,
  })
  return { ...process, books, book }
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
  await awaitState('stopped')
  expect(await half()).toMatchObject({ state: 'stopped', status: 'active', isBehind: false })
  books.add(book, { displayName: 'Grace' })
  await process.signInAgain([`${scope}.readonly`])
  await awaitState('live')
  await awaitProblem(null)
  await waitUntil('the new contact', async () => (await readContactFeed(db)).length === 2)
})
