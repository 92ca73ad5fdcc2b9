import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { describe, expect, test } from 'vitest'
import { waitForContacts, waitForNames } from '../contacts/carddav-account.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectContacts, CONTACT_SCOPES, followedContacts } from './contacts-account.ts'
import { addOfficeUser, addShared, connectUser, SANDBOX_APPS } from './delegates.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import { openGraphApp } from './open-graph-app.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openGraphApp({ config: SANDBOX_APPS }))

/** One black pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
)

const addAda = (client: GraphClient) => client.ask('POST', 'contacts', { displayName: 'Ada' })

const CLOUDS = casesFor(['global', 'china'] as const, cloud => cloud === 'global')

describe.each(CLOUDS)('contacts of a user of the cloud %s', cloud => {
  test('are read, followed and written, and each change is announced once', async () => {
    const { app } = opened()
    const account = await connectContacts(opened(), {
      cloud,
      async arrange(client) {
        const friends = await client.ask('POST', 'contactFolders', { displayName: 'Friends' })
        await client.ask('POST', `contactFolders/${friends.id}/contacts`, { displayName: 'Bob' })
        await client.ask('POST', 'contacts', {
          displayName: 'Ada',
          emailAddresses: [{ name: 'The Countess', address: 'ada@example.org' }],
          mobilePhone: '+44 1',
          birthday: '1815-12-10T11:59:00Z',
        })
      },
    })
    const { id, path, client } = account
    const [ada, bob] = await waitForNames(app, id, ['Ada', 'Bob'])
    expect(ada).toMatchObject({
      emails: [{ address: 'ada@example.org', type: 'other' }],
      phones: [{ number: '+44 1', type: 'mobile' }],
      birthday: '1815-12-10',
      hasPhoto: null,
    })
    expect((await app.get(`/v1/accounts/${id}/contact-folders`)).body).toEqual({
      items: [
        { id: ada!.folderId, name: 'Contacts', isDefault: true },
        { id: bob!.folderId, name: 'Friends', isDefault: false },
      ],
    })
    const listed = async (query: string) =>
      (await app.get<{ items: Contact[] }>(`${path}?${query}`)).body.items.map(one => one.displayName)
    expect(await listed('q=ADA@')).toEqual(['Ada'])
    expect(await listed(`folderId=${bob!.folderId}`)).toEqual(['Bob'])
    expect((await app.get(`${path}/${bob!.id}`)).body).toEqual(bob)

    const made = await app.post<Contact>(path, {
      displayName: 'Cid',
      folderId: bob!.folderId,
      phones: [{ number: '5', type: 'work' }],
    })
    expect(made).toMatchObject({ status: 200, body: { displayName: 'Cid', folderId: bob!.folderId } })
    const changed = await app.patch<Contact>(`${path}/${ada!.id}`, { givenName: 'Augusta', notes: 'A\nB' })
    expect(changed).toMatchObject({ status: 200, body: { displayName: 'Ada', notes: 'A\nB' } })
    const [there] = await client.all("contacts?$filter=givenName eq 'Augusta'")
    expect(there).toMatchObject({
      displayName: 'Ada',
      personalNotes: 'A\r\nB',
      emailAddresses: [{ name: 'The Countess', address: 'ada@example.org' }],
    })
    expect((await app.delete(`${path}/${made.body.id}`)).status).toBe(200)

    // The other client changes, moves, creates and deletes.
    await client.ask('PATCH', `contacts/${there.id}`, { displayName: 'Ada King' })
    await account.lookAgain()
    await waitForNames(app, id, ['Ada King', 'Bob'])
    const [friends] = await client.all('contactFolders')
    await client.ask('PATCH', `contacts/${there.id}`, { parentFolderId: friends.id })
    await client.ask('POST', 'contacts', { displayName: 'Dora' })
    await account.lookAgain()
    // The move and the new contact come by different folders.
    await waitUntil('the move', async () => {
      const [moved] = await waitForNames(app, id, ['Ada King', 'Bob', 'Dora'])
      return moved!.id === ada!.id && moved!.folderId === bob!.folderId
    })
    await client.ask('DELETE', `contacts/${there.id}`)
    await account.lookAgain()
    await waitForNames(app, id, ['Bob', 'Dora'])

    const events = await account.events()
    expect(events.toSorted()).toEqual(
      [
        'contacts.initialized',
        'contact.created Cid',
        'contact.updated Ada',
        'contact.deleted Cid',
        'contact.updated Ada King',
        'contact.updated Ada King',
        'contact.created Dora',
        'contact.deleted Ada King',
      ].toSorted(),
    )
    expect(events[0]).toBe('contacts.initialized')
    // A look that finds nothing announces nothing.
    await account.lookAgain()
    await client.ask('POST', 'contacts', { displayName: 'Eve' })
    await account.lookAgain()
    await waitForNames(app, id, ['Bob', 'Dora', 'Eve'])
    expect(await account.events()).toEqual([...events, 'contact.created Eve'])
  })

  test('are compared again when every link has expired, and lose nothing', async () => {
    const { app, sandbox } = opened()
    const account = await connectContacts(opened(), {
      cloud,
      async arrange(client) {
        for (const displayName of ['Ada', 'Bob', 'Cid']) await client.ask('POST', 'contacts', { displayName })
      },
    })
    const before = await waitForNames(app, account.id, ['Ada', 'Bob', 'Cid'])
    const [ada, bob] = await account.client.all('contacts?$orderby=displayName')
    await account.client.ask('PATCH', `contacts/${ada.id}`, { displayName: 'Ada King' })
    await account.client.ask('DELETE', `contacts/${bob.id}`)
    await sandbox.expireHistory(account.email)
    await account.lookAgain()
    const after = await waitForNames(app, account.id, ['Ada King', 'Cid'])
    expect(after.map(({ id }) => id)).toEqual([before[0]!.id, before[2]!.id])
    expect(await account.events()).toEqual([
      'contacts.initialized',
      'contact.updated Ada King',
      'contact.deleted Bob',
    ])
  })
})

test('a photo is fetched on request, and again after it has changed', async () => {
  const { app } = opened()
  const { id, path, client, lookAgain } = await connectContacts(opened(), {
    arrange: addAda,
  })
  const [ada] = await waitForNames(app, id, ['Ada'])
  const without = await app.get(`${path}/${ada!.id}/photo`)
  expect(without).toMatchObject({ status: 404, body: { code: 'photo_not_found' } })
  expect((await app.get(`${path}/${ada!.id}`)).body).toMatchObject({ hasPhoto: false })

  const [there] = await client.all('contacts')
  await client.putPhoto(there.id, PNG)
  await lookAgain()
  await waitUntil('the news of the photo', async () => {
    const { body } = await app.get<Contact>(`${path}/${ada!.id}`)
    return body.hasPhoto === null
  })
  const authorization = `Bearer ${app.key}`
  const read = await fetch(`${app.address}${path}/${ada!.id}/photo`, { headers: { authorization } })
  expect([read.status, read.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(Buffer.from(await read.arrayBuffer())).toEqual(PNG)
  expect((await app.get(`${path}/${ada!.id}`)).body).toMatchObject({ hasPhoto: true })
})

test.each([
  [
    'four email addresses',
    { emails: ['a', 'b', 'c', 'd'].map(name => ({ address: `${name}@example.org` })) },
  ],
  ['an email address with a type', { emails: [{ address: 'a@example.org', type: 'work' }] }],
  ['two mobile numbers', { phones: ['1', '2'].map(number => ({ number, type: 'mobile' })) }],
  ['three numbers at work', { phones: ['1', '2', '3'].map(number => ({ number, type: 'work' })) }],
  ['a fax', { phones: [{ number: '1', type: 'fax' }] }],
  ['a birthday without a year', { birthday: '--12-10' }],
  ['a birthday before 1601', { birthday: '1600-12-10' }],
])('%s cannot be held, and nothing is written', async (_, fields) => {
  const { app, sandbox } = opened()
  const { id, path, email, client } = await connectContacts(opened(), {
    arrange: addAda,
  })
  const [ada] = await waitForNames(app, id, ['Ada'])
  const refused = { status: 400, body: { code: 'provider_unsupported' } }
  expect(await app.post(path, { displayName: 'Bob', ...fields })).toMatchObject(refused)
  expect(await app.patch(`${path}/${ada!.id}`, fields)).toMatchObject(refused)
  expect(await client.all('contacts?$select=displayName')).toHaveLength(1)
  const { items } = await sandbox.calls({ user: email, method: 'PATCH' })
  expect(items).toEqual([])
})

test('a change that others keep overtaking is a conflict after three more tries', async () => {
  const { app, sandbox } = opened()
  const { id, path } = await connectContacts(opened(), {
    arrange: addAda,
  })
  const [ada] = await waitForNames(app, id, ['Ada'])
  const writing = { host: 'graph.microsoft.com', method: 'PATCH' }
  await sandbox.addFault({ does: 'error', status: 412, ...writing })
  const refused = await app.patch(`${path}/${ada!.id}`, { jobTitle: 'Analyst' })
  await sandbox.clearFaults()
  expect(refused).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
  const { items } = await sandbox.calls(writing)
  expect(items.filter(({ status }) => status === 412)).toHaveLength(4)
})

test('contacts of a shared mailbox are read and written with the grant of its delegate', async () => {
  const { app, sandbox } = opened()
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', delegates: [eva] })
  const client = await openGraphClient(sandbox, desk)
  await client.ask('POST', 'contacts', { displayName: 'Supplier' })
  const shared = ['Mail.ReadWrite.Shared', 'Mail.Send.Shared', 'Contacts.ReadWrite.Shared']
  const delegate = await connectUser(app, sandbox, eva, { scopes: [...CONTACT_SCOPES, ...shared] })
  const settings = { syncWindowDays: null, contactsEnabled: true }
  const { id } = await addShared(app, delegate.id, desk, { settings })
  await waitForContacts(app, id)
  const account = followedContacts(app, { id, email: desk, client })
  const [supplier] = await waitForNames(app, id, ['Supplier'])
  const changed = await app.patch(`${account.path}/${supplier!.id}`, { notes: 'Pays late' })
  expect(changed.status).toBe(200)
  expect(await client.all('contacts')).toMatchObject([{ personalNotes: 'Pays late' }])
  await client.ask('POST', 'contacts', { displayName: 'Tenant' })
  await account.lookAgain()
  await waitForNames(app, id, ['Supplier', 'Tenant'])
  const { body } = await app.get<Account>(`/v1/accounts/${id}`)
  expect(body).toMatchObject({ status: 'active', settings: { contactsEnabled: true } })
})
