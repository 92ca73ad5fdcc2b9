import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { arrangePeople, type PeopleArrangement } from '../../../test/people/arrange-people.ts'
import { configurePeople } from '../../../test/people/other-client.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { never } from '../conformance/arrangement.ts'
import { openContactIndex } from '../conformance/contact-index.ts'
import { describeContacts } from '../conformance/contacts.ts'
import { type ContactFields, NO_FIELDS } from '../contacts.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configurePeople(server, { quota: 'off' })
  return server
})

describeContacts('Google', () => arrangePeople(sandbox()))

/** An account with an index that has followed it. */
async function open(arranged: PeopleArrangement) {
  const { contacts } = await arranged.connect()
  const [folder] = await contacts.listFolders(never)
  const index = openContactIndex(folder!)
  await index.follow(contacts)
  index.takeSteps()
  return { contacts, index, folder: folder! }
}

const created = (fields: Partial<ContactFields>, creationId = randomUUID(), mayExist = false) => ({
  folderKey: null,
  fields: { ...NO_FIELDS, ...fields },
  creationId,
  mayExist,
})

const named = (givenName: string) => ({ names: [{ givenName }] })

test('reports a merged contact with its former names, also after its sync token has expired', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { client } = arranged
  const [ann, anna, bob] = await client.add(named('Ann'), named('Anna'), named('Bob'))
  const { contacts, index } = await open(arranged)

  const merged = await client.merge(ann!.resourceName!, anna!.resourceName!)
  await index.follow(contacts)
  const [first] = index.takeSteps()
  expect(first).toMatchObject({
    type: 'contacts',
    contacts: [{ key: merged.resourceName, formerKeys: [ann!.resourceName, anna!.resourceName] }],
  })
  expect(index.names()).toEqual(['Ann', 'Bob'])

  // Then no row names the former ones, and the id of the contact within its source is left.
  const uid = index.contacts.get(bob!.resourceName!)?.uid
  const renamed = await client.merge(bob!.resourceName!)
  await client.expire()
  await index.follow(contacts)
  expect(index.contacts.get(renamed.resourceName!)).toMatchObject({ uid, fields: { givenName: 'Bob' } })
  expect(index.names()).toEqual(['Ann', 'Bob'])
})

test('records nothing older than its own writes, and deletes nothing that syncs do not show yet', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { client } = arranged
  const [ann] = await client.add(named('Ann'))
  const { contacts, index } = await open(arranged)
  await configurePeople(sandbox(), { syncLagSeconds: 600 })
  try {
    const changed = await contacts.change(ann!.resourceName!, { nickname: 'Annie' })
    const made = await contacts.create(created({ displayName: 'Bob', givenName: 'Bob' }))
    for (const contact of [changed, made]) index.contacts.set(contact.key, contact)

    await index.follow(contacts)
    expect(index.takeSteps().map(({ type }) => type)).toEqual(['end'])
    // A whole comparison lists the contacts as they were ten minutes ago.
    index.cursor = null
    await index.follow(contacts)
    expect(index.takeSteps().map(({ type }) => type)).toEqual(['end'])
    expect(index.names()).toEqual(['Ann', 'Bob'])

    await contacts.remove(made.key)
    index.contacts.delete(made.key)
    await sandbox().turnClock(601)
    await index.follow(contacts)
    expect(index.names()).toEqual(['Ann'])
    expect(index.contacts.get(changed.key)?.fields.nickname).toBe('Annie')
  } finally {
    await configurePeople(sandbox(), { syncLagSeconds: 0 })
  }
})

test('makes a full sync after six days, before the sync token expires', async () => {
  await using arranged = await arrangePeople(sandbox())
  await arranged.client.add(named('Ann'))
  const { index, folder } = await open(arranged)
  const asks = async (days: number) => {
    const { contacts } = await arranged.connect(days * 24 * 3_600_000)
    const asked = [{ folder, cursor: index.cursor }]
    return { contacts, isChanged: (await contacts.findChanged(asked, never)).size > 0 }
  }
  expect((await asks(5.9)).isChanged).toBe(false)
  const { contacts, isChanged } = await asks(6.1)
  expect(isChanged).toBe(true)
  const { comparisons } = index
  await index.follow(contacts)
  expect(index.comparisons).toBe(comparisons + 1)
  expect((await asks(12)).isChanged).toBe(false)
})

test('makes one call for a look at contacts that have not changed', async () => {
  await using arranged = await arrangePeople(sandbox())
  await arranged.client.add(named('Ann'))
  const { contacts, index, folder } = await open(arranged)
  const { items } = await sandbox().calls({ user: arranged.email })
  await contacts.findChanged([{ folder, cursor: index.cursor }], never)
  const after = items.at(-1)?.id ?? 0
  expect((await sandbox().calls({ user: arranged.email, after })).items).toHaveLength(1)
})

test('is throttled by the quota of full syncs alone, and not in its other calls', async () => {
  await using arranged = await arrangePeople(sandbox())
  const [ann] = await arranged.client.add(named('Ann'))
  const { contacts, index } = await open(arranged)
  await configurePeople(sandbox(), { quota: 'on', fullSyncsPerMinute: 1 })
  try {
    index.cursor = null
    await expect(index.follow(contacts).then(() => index.follow(contacts))).resolves.toBe(true)
    index.cursor = null
    await expect(index.follow(contacts)).rejects.toMatchObject({ kind: 'throttled', isBusy: false })
    expect((await contacts.read([ann!.resourceName!])).contacts).toHaveLength(1)
  } finally {
    await configurePeople(sandbox(), { quota: 'off', fullSyncsPerMinute: null })
  }
})

test('takes a contact that cannot be read for one, and reads the others', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { client } = arranged
  const [ann] = await client.add({ names: [{ givenName: 7 as unknown as string }] }, named('Bob'))
  const { contacts, index } = await open(arranged)
  expect(index.names()).toEqual(['Bob'])
  expect([...index.unreadable.keys()]).toEqual([ann!.resourceName])
  await index.follow(contacts)
  expect(index.takeSteps().map(({ type }) => type)).toEqual(['end'])
  await expect(contacts.change(ann!.resourceName!, { notes: 'x' })).rejects.toMatchObject({
    kind: 'rejected',
  })
  await client.change(ann!.resourceName!, named('Ann'))
  await index.follow(contacts)
  expect(index.names()).toEqual(['Ann', 'Bob'])
  expect(index.unreadable.size).toBe(0)
})

test('finds what an earlier try of a creation made, and makes it again once that is deleted', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { contacts } = await open(arranged)
  const creationId = randomUUID()
  const first = await contacts.create(created({ givenName: 'Ann' }, creationId))
  const again = () => contacts.create(created({ givenName: 'Ann' }, creationId, true))
  expect((await again()).key).toBe(first.key)
  await contacts.remove(first.key)
  expect((await again()).key).not.toBe(first.key)
  expect(await arranged.client.list()).toHaveLength(1)
})

test('tries a change three times more if others keep changing the contact, and then reports a conflict', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { client } = arranged
  const [ann] = await client.add(named('Ann'))
  const { contacts } = await open(arranged)
  const path = `/v1/${ann!.resourceName}:updateContact`
  const refusing = async (count: number) => {
    await sandbox().addFault({ does: 'error', status: 409, host: 'people.googleapis.com', path, count })
    return contacts.change(ann!.resourceName!, { jobTitle: `after ${count}` })
  }
  expect((await refusing(3)).fields.jobTitle).toBe('after 3')
  await expect(refusing(4)).rejects.toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
  await Promise.all([
    contacts.change(ann!.resourceName!, { jobTitle: 'Analyst' }),
    contacts.change(ann!.resourceName!, { department: 'Numbers' }),
  ])
  const [{ organizations }] = (await client.list()) as [{ organizations: unknown[] }]
  expect(organizations).toMatchObject([{ title: 'Analyst', department: 'Numbers' }])
})

test('asks for photos by their size and at their host alone, and takes the picture of a name for none', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { client } = arranged
  const [ann] = await client.add(named('Ann'))
  const { contacts, index } = await open(arranged)
  expect(index.contacts.get(ann!.resourceName!)?.photo).toEqual({ type: 'none' })
  await client.setPhoto(ann!.resourceName!, Buffer.from('one'))
  await index.follow(contacts)
  const state = index.contacts.get(ann!.resourceName!)?.photo
  const photo = await contacts.readPhoto(ann!.resourceName!, never)
  expect(state).toEqual({ type: 'some', version: photo?.version })
  const { items } = await sandbox().calls({ host: 'lh3.googleusercontent.com' })
  expect(items.at(-1)).toMatchObject({ path: expect.stringMatching(/=s720$/), user: null })
  await client.setPhoto(ann!.resourceName!, Buffer.alloc(6 * 1024 * 1024))
  const large = await contacts.readPhoto(ann!.resourceName!, never)
  await expect(Array.fromAsync(large!.open())).rejects.toMatchObject({ kind: 'rejected' })
})

test('shows texts of one line, and twenty addresses at most, and keeps what it does not show', async () => {
  await using arranged = await arrangePeople(sandbox())
  const { client } = arranged
  const addresses = Array.from({ length: 22 }, (_, nth) => ({ value: `ann-${nth}@example.com` }))
  const [ann] = await client.add({
    names: [{ givenName: 'Ann\nMarie' }],
    emailAddresses: [{ value: ' ' }, ...addresses],
  })
  const { contacts, index } = await open(arranged)
  const { fields } = index.contacts.get(ann!.resourceName!)!
  expect(fields.givenName).toBe('Ann Marie')
  expect(fields.emails).toHaveLength(20)

  await contacts.change(ann!.resourceName!, { emails: [{ address: 'ann@example.com', type: 'other' }] })
  const [after] = await client.list()
  expect(after!.emailAddresses?.map(({ value }) => value?.trim())).toEqual([
    'ann@example.com',
    '',
    'ann-20@example.com',
    'ann-21@example.com',
  ])
  expect(after!.names).toMatchObject([{ givenName: 'Ann\nMarie' }])
})
