import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readFeed, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitForRuntime } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import {
  addOfficeUser,
  addShared,
  askToAdd,
  connectUser,
  deleteAccounts,
  SANDBOX_APPS,
  SHARED_SCOPES,
} from './delegates.ts'
import { type GraphApp, openGraphApp } from './open-graph-app.ts'
import { SOAK } from '../soak.ts'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp({ config: SANDBOX_APPS })
})
afterEach(() => deleteAccounts(opened.app))
afterAll(() => opened[Symbol.asyncDispose]())

/** A delegate with shared mailboxes of a few messages, all of them followed. */
async function openDesks(count: number) {
  const { app, sandbox } = opened
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const delegate = await connectUser(app, sandbox, eva)
  const desks = []
  for (let nth = 0; nth < count; nth++) {
    const email = await addOfficeUser(sandbox, { name: 'desk', messages: 3, delegates: [eva] })
    desks.push({ email, id: (await addShared(app, delegate.id, email)).id })
  }
  for (const { id } of desks) await waitForFirstSync(app, id)
  const { cursor } = await readFeed(app)
  return {
    eva,
    delegate,
    desks,
    /** The events of an account since the first syncs, by their types. */
    async eventsOf(id: string) {
      const { events } = await readFeed(app, cursor)
      return events.filter(({ accountId }) => accountId === id).map(({ type }) => type)
    },
  }
}

const read = async (id: string) => (await opened.app.get<Account>(`/v1/accounts/${id}`)).body

function waitForStatus(id: string, status: string, reason: string | null): Promise<Account> {
  return waitUntil(`account ${id} to be ${status}`, async () => {
    const account = await read(id)
    return account.status === status && account.statusReason === reason ? account : null
  })
}

/** Delivers a message, and waits until the index has it. */
async function expectFollowed({ id, email }: { id: string; email: string }, subject: string): Promise<void> {
  const { app, sandbox } = opened
  await sandbox.deliver(email, `From: g@example.com\r\nTo: ${email}\r\nSubject: ${subject}\r\n\r\nHello\r\n`)
  await waitUntil(
    `${subject} in the index`,
    async () => (await readMessages(app, id)).some(message => message.subject === subject) || null,
  )
}

describe('the shared mailboxes of a delegate', () => {
  test('stop once each when its grant is refused, and come back with the next', async () => {
    const { app, sandbox } = opened
    const { eva, delegate, desks, eventsOf } = await openDesks(2)
    await sandbox.changeUser(eva, { passwordChanged: true })
    await waitForStatus(delegate.id, 'reauth_required', 'invalid_grant')
    for (const { id } of desks) await waitForStatus(id, 'reauth_required', 'delegate_reauth_required')
    const [first] = desks
    expect((await app.patch(`/v1/accounts/${first!.id}`, { status: 'active' })).body).toMatchObject({
      code: 'account_reauth_required',
    })
    expect((await askToAdd(app, delegate.id, first!.email)).body).toMatchObject({
      code: 'account_reauth_required',
    })
    await connectUser(app, sandbox, eva)
    for (const desk of desks) {
      await waitForStatus(desk.id, 'active', null)
      await expectFollowed(desk, 'after the renewal')
      const events = await eventsOf(desk.id)
      expect(events.filter(type => type === 'account.reauth_required')).toHaveLength(1)
      expect(events.filter(type => type === 'account.connected')).toHaveLength(1)
      expect(events).not.toContain('message.deleted')
    }
  })

  test('stop when it is deleted, and are opened by another delegate with all that they had', async () => {
    const { app, sandbox } = opened
    const { eva, delegate, desks, eventsOf } = await openDesks(1)
    const [desk] = desks
    const before = (await readMessages(app, desk!.id)).map(({ id }) => id)
    await app.delete(`/v1/accounts/${delegate.id}`)
    await waitForStatus(desk!.id, 'reauth_required', 'delegate_deleted')
    const finn = await addOfficeUser(sandbox, { name: 'finn' })
    await sandbox.changeUser(desk!.email, { delegates: [eva, finn] })
    const other = await connectUser(app, sandbox, finn, {
      scopes: [...SHARED_SCOPES, 'Contacts.ReadWrite', 'Contacts.ReadWrite.Shared'],
    })
    const pointed = await addShared(app, other.id, desk!.email, {
      externalRef: 'again',
      settings: undefined,
    })
    expect(pointed).toMatchObject({
      id: desk!.id,
      status: 'active',
      statusReason: null,
      externalRef: 'again',
      settings: { syncWindowDays: null },
      auth: { delegateAccountId: other.id },
    })
    await expectFollowed(desk!, 'by another delegate')
    expect((await readMessages(app, desk!.id)).map(({ id }) => id)).toEqual(expect.arrayContaining(before))
    expect((await eventsOf(desk!.id)).filter(type => type !== 'mailbox.updated')).toEqual([
      'account.reauth_required',
      'account.updated',
      'account.connected',
      'message.created',
    ])
    const { events } = await readFeed(app)
    const updated = events.findLast(
      ({ type, accountId }) => type === 'account.updated' && accountId === desk!.id,
    )
    expect(updated?.data).toMatchObject({ changes: expect.arrayContaining(['auth', 'settings']) })
    const connected = events.filter(
      ({ type, accountId }) => type === 'account.connected' && accountId === desk!.id,
    )
    expect(connected.map(({ data }) => (data as { reauthorized?: boolean }).reauthorized)).toEqual([
      false,
      true,
    ])
    const purged = await app.delete(`/v1/accounts/${delegate.id}?purge=true`)
    expect(purged.status).toBe(200)
    await expectFollowed(desk!, 'after the purge of the first')
  })

  test(
    'go on while it is paused, and stay paused themselves when they are pointed elsewhere',
    SOAK,
    async () => {
      const { app, sandbox } = opened
      const { eva, delegate, desks } = await openDesks(1)
      const [desk] = desks
      expect((await app.patch(`/v1/accounts/${delegate.id}`, { status: 'paused' })).status).toBe(200)
      await expectFollowed(desk!, 'while it is paused')
      await app.patch(`/v1/accounts/${desk!.id}`, { status: 'paused' })
      const finn = await addOfficeUser(sandbox, { name: 'finn' })
      await sandbox.changeUser(desk!.email, { delegates: [eva, finn] })
      const other = await connectUser(app, sandbox, finn)
      expect(await addShared(app, other.id, desk!.email)).toMatchObject({
        id: desk!.id,
        status: 'paused',
        auth: { delegateAccountId: other.id },
      })
      await sandbox.changeUser(desk!.email, { delegates: [finn] })
      await app.patch(`/v1/accounts/${desk!.id}`, { status: 'active' })
      await expectFollowed(desk!, 'by the second delegate')
    },
  )
})

test('a mailbox that signs in for itself under another address is not added as a shared one', async () => {
  const { app, sandbox } = opened
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const delegate = await connectUser(app, sandbox, eva)
  const desk = await addOfficeUser(sandbox, { name: 'desk', delegates: [eva] })
  const own = await connectUser(app, sandbox, desk)
  await waitForFirstSync(app, own.id)
  await sql`update account set email = 'alias@office.test' where id = ${own.id}`.execute(app.db)
  expect(await askToAdd(app, delegate.id, desk)).toMatchObject({
    status: 409,
    body: { code: 'account_exists', message: expect.stringContaining(own.id) },
  })
})

describe('a shared mailbox that the delegate may no longer open', () => {
  test('stops alone and loses nothing, is disabled after a day, and comes back when it is added again', async () => {
    const { app, sandbox } = opened
    const { eva, delegate, desks, eventsOf } = await openDesks(2)
    const [lost, kept] = desks
    const before = (await readMessages(app, lost!.id)).map(({ id }) => id)
    await sandbox.changeUser(lost!.email, { delegates: [] })
    await waitUntil('the sync to find out', async () => (await read(lost!.id)).runtime?.state === 'backoff')
    await expectFollowed(kept!, 'beside it')
    const { body } = await app.get<{ code: string }>(`/v1/accounts/${lost!.id}/messages/${before[0]}/raw`)
    expect(body).toMatchObject({ code: 'account_disabled' })
    await waitForRuntime(app, delegate.id, 'live')
    expect(await read(delegate.id)).toMatchObject({ status: 'active' })
    expect(await eventsOf(lost!.id)).toEqual([])

    // As if a day had passed.
    await sql`update account_half set closed_since = closed_since - interval '25 hours'
      where account_id = ${lost!.id}`.execute(app.db)
    await app.post(`/v1/accounts/${lost!.id}/sync`, {})
    await waitForStatus(lost!.id, 'disabled', 'provider_not_found')
    expect((await askToAdd(app, delegate.id, lost!.email)).body).toMatchObject({
      code: 'shared_mailbox_inaccessible',
    })
    await sandbox.changeUser(lost!.email, { delegates: [eva] })
    expect(await addShared(app, delegate.id, lost!.email)).toMatchObject({ id: lost!.id, status: 'active' })
    await expectFollowed(lost!, 'once it is added again')
    expect((await readMessages(app, lost!.id)).map(({ id }) => id)).toEqual(expect.arrayContaining(before))
    expect(await eventsOf(lost!.id)).not.toContain('message.deleted')
    expect(await read(kept!.id)).toMatchObject({ status: 'active' })
  })

  test('goes on by itself once it may be opened again', SOAK, async () => {
    const { sandbox } = opened
    const { eva, desks, eventsOf } = await openDesks(1)
    const [desk] = desks
    await sandbox.changeUser(desk!.email, { delegates: [] })
    await waitUntil('the sync to find out', async () => (await read(desk!.id)).runtime?.state === 'backoff')
    await sandbox.changeUser(desk!.email, { delegates: [eva] })
    await expectFollowed(desk!, 'again')
    expect((await eventsOf(desk!.id)).filter(type => type !== 'mailbox.updated')).toEqual(['message.created'])
  })
})
