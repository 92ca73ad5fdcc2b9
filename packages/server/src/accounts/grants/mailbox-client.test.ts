import { expect, test } from 'vitest'
import { type SampleAccount, sampleAccount, sampleMailbox, sampleTenant } from '../../../test/sample-rows.ts'
import { useTestApp } from '../../../test/use-app.ts'
import { newId } from '../../kit/ids.ts'
import { findMailboxClient, isFirstOfMailbox } from './mailbox-client.ts'

const service = useTestApp()

/** Adds accounts of tenants of their own, the oldest first. */
async function openAccounts() {
  const { db } = await service.newTenant()
  const soon = new Date(Date.now() + 3_600_000)
  const token = Buffer.from([0])
  const insert = (tenantId: string, values: Parameters<typeof sampleAccount>[2]) =>
    sampleAccount(db, tenantId, { provider: 'graph', cloud: 'global', imap: null, ...values })
  async function add(subject: string, clientId: string, values: { cloud?: string; email?: string } = {}) {
    const account = await insert((await sampleTenant(db)).id, { auth_method: 'oauth', subject, ...values })
    await db
      .insertInto('oauth_grant')
      .values({
        account_id: account.id,
        id: newId(),
        provider: 'microsoft',
        client_id: clientId,
        scopes: [],
        access_token: token,
        refresh_token: token,
        issued_at: new Date(),
        expires_at: soon,
        refresh_at: soon,
      })
      .execute()
    return account
  }
  return {
    db,
    add,
    share: (delegate: SampleAccount, subject: string, email: string) =>
      insert(delegate.tenantId, {
        auth_method: 'delegate',
        delegate_account_id: delegate.id,
        subject,
        email,
      }),
  }
}

test('the oldest account of a mailbox and a client is the first one', async () => {
  const { db, add } = await openAccounts()
  const subject = `microsoft:${newId()}`
  const oldest = await add(subject, 'app')
  const another = `microsoft:${newId()}`
  const accounts = [
    oldest,
    await add(subject, 'app'),
    await add(subject, 'another app'),
    await add(subject, 'app', { cloud: 'dod' }),
    await add(another, 'app'),
  ]
  const areFirst = () => Promise.all(accounts.map(({ id }) => isFirstOfMailbox(db, id, null)))
  expect(await areFirst()).toEqual([true, false, true, true, true])
  await db.updateTable('account').set({ deleted_at: new Date() }).where('id', '=', oldest.id).execute()
  expect((await areFirst())[1]).toBe(true)
})

test('the oldest account of a mailbox is the first one, whether it is an own or a shared one', async () => {
  const { db, add, share } = await openAccounts()
  const delegate = await add(`microsoft:${newId()}`, 'app')
  const [inboxId, address] = [newId(), `desk-${newId()}@office.test`]
  const sharedSubject = `microsoft:inbox:${inboxId}`
  const inbox = { id: inboxId, sharedSubject }
  const own = await add(`microsoft:${newId()}`, 'app', { email: address.toUpperCase() })
  const shared = await share(delegate, sharedSubject, address)
  const later = await add(`microsoft:${newId()}`, 'app', { email: `another-${address}` })
  const areFirst = () => Promise.all([own, shared, later].map(({ id }) => isFirstOfMailbox(db, id, inbox)))
  expect(await areFirst()).toEqual([true, false, false])
  await db.updateTable('account').set({ deleted_at: new Date() }).where('id', '=', own.id).execute()
  expect((await areFirst()).slice(1)).toEqual([true, false])
})

test('a shared mailbox recognises the older account of its user by the inbox, whatever its addresses are', async () => {
  const { db, add, share } = await openAccounts()
  const inboxId = newId()
  const inbox = { id: inboxId, sharedSubject: `microsoft:inbox:${inboxId}` }
  const own = await add(`microsoft:${newId()}`, 'app', { email: `desk-${inboxId}@office.test` })
  const delegate = await add(`microsoft:${newId()}`, 'app')
  const shared = await share(delegate, inbox.sharedSubject, `alias-${inboxId}@office.test`)
  const isFirst = () => isFirstOfMailbox(db, shared.id, inbox)
  expect(await isFirst()).toBe(true)
  await sampleMailbox(db, own, { provider_key: inboxId, role: 'inbox' })
  expect(await isFirst()).toBe(false)
  expect(await isFirstOfMailbox(db, own.id, inbox)).toBe(true)
  await db.updateTable('mailbox').set({ is_deleted: true }).where('account_id', '=', own.id).execute()
  expect(await isFirst()).toBe(true)
})

test('finds the client and the inbox of the user whose grant opens a mailbox', async () => {
  const { db, add, share } = await openAccounts()
  const subject = `microsoft:${newId()}`
  const account = await add(subject, 'app')
  expect(await findMailboxClient(db, account.id)).toEqual({ clientId: 'app', subject, inboxId: null })
  await sampleMailbox(db, account, { provider_key: 'the inbox', role: 'inbox' })
  const found = { clientId: 'app', subject, inboxId: 'the inbox' }
  expect(await findMailboxClient(db, account.id)).toEqual(found)
  const shared = await share(account, `microsoft:inbox:${newId()}`, 'desk@office.test')
  expect(await findMailboxClient(db, shared.id)).toEqual(found)
  await db.updateTable('account').set({ deleted_at: new Date() }).where('id', '=', account.id).execute()
  expect(await findMailboxClient(db, account.id)).toBeNull()
})
