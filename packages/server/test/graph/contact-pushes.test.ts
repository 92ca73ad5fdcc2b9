import { expect, test } from 'vitest'
import { waitForNames } from '../contacts/carddav-account.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectContacts, type ContactsAccount } from './contacts-account.ts'
import { openGraphApp } from './open-graph-app.ts'

// Contacts are looked at every five minutes, so within a test only pushes bring anything.
const opened = useServer(() => openGraphApp())

interface Played {
  user: string
  id: string
  resource: string
}

const subscriptionsOf = async (email: string): Promise<Played[]> => {
  const { items } = await opened().sandbox.control<{ items: Played[] }>('GET', '/subscriptions')
  return items.filter(({ user }) => user === email)
}
const subscriptionTo = async (email: string, items: 'messages' | 'contacts') =>
  (await subscriptionsOf(email)).find(({ resource }) => resource.endsWith(`/${items}`)) ?? null

/** Looks at the contacts of an account so far, by their path. */
const looks = async ({ email }: ContactsAccount): Promise<number> => {
  const { items } = await opened().sandbox.calls({ user: email })
  return items.filter(({ path }) => path.endsWith('/contactFolders/contacts')).length
}

/** Waits for the look that a new subscription brings about. */
async function connectPushed(): Promise<ContactsAccount> {
  const account = await connectContacts(opened())
  await waitUntil('the look after the subscription', async () => (await looks(account)) >= 2)
  return account
}

test('a change of a contact is pushed, and the mail is not looked at for it', async () => {
  const { app, sandbox } = opened()
  const account = await connectPushed()
  await waitUntil('both subscriptions', async () => (await subscriptionsOf(account.email)).length === 2)
  const listed = async () => {
    const { items } = await sandbox.calls({ user: account.email })
    return items.filter(({ path }) => path.endsWith('/messages/delta')).length
  }
  const before = await listed()
  const { id } = await account.client.ask('POST', 'contacts', { displayName: 'Ada' })
  await waitForNames(app, account.id, ['Ada'])
  await account.client.ask('PATCH', `contacts/${id}`, { displayName: 'Ada King' })
  await waitForNames(app, account.id, ['Ada King'])
  await account.client.ask('DELETE', `contacts/${id}`)
  await waitForNames(app, account.id, [])
  expect(await listed()).toBe(before)
})

test('a removed subscription to contacts is made again', async () => {
  const { app, sandbox } = opened()
  const account = await connectPushed()
  const before = await subscriptionTo(account.email, 'contacts')
  await sandbox.control('POST', '/subscriptions/events', {
    event: 'subscriptionRemoved',
    user: account.email,
  })
  await waitUntil('another one', async () => {
    const after = await subscriptionTo(account.email, 'contacts')
    return after !== null && after.id !== before?.id
  })
  await account.client.ask('POST', 'contacts', { displayName: 'Bob' })
  await waitForNames(app, account.id, ['Bob'])
})

test('the subscriptions of a deleted account are deleted at Microsoft, with that to contacts', async () => {
  const account = await connectPushed()
  await waitUntil('both', async () => (await subscriptionsOf(account.email)).length === 2)
  expect((await opened().app.delete(`/v1/accounts/${account.id}`)).status).toBe(200)
  await waitUntil('none', async () => (await subscriptionsOf(account.email)).length === 0)
})
