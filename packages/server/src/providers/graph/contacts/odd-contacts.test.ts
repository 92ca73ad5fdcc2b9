import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  addContact,
  addContactFolder,
  changeContact,
  moveContact,
  removeContactFolder,
} from '../../../../../sandbox/src/microsoft/mailbox/contacts.ts'
import { arrangeContacts } from '../../../../test/graph/arrange-contacts.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import { never } from '../../conformance/arrangement.ts'
import { openContactIndex } from '../../conformance/contact-index.ts'
import { NO_FIELDS } from '../../contacts.ts'
import type { Urgency } from '../api.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

/** A mailbox with some contacts, which are in the index. */
async function arrange(names: readonly string[], cloud: 'global' | 'china' = 'global') {
  const arranged = arrangeContacts(server, cloud)
  const { mailbox } = arranged
  const added = names.map(displayName => addContact(mailbox, mailbox.contacts.main, { displayName }))
  const { contacts } = await arranged.connect()
  const [folder] = await contacts.listFolders(never)
  const index = openContactIndex(folder!)
  await index.follow(contacts)
  index.takeSteps()
  return { ...arranged, contacts, index, added, main: mailbox.contacts.main }
}

const changed = (cloud: 'global' | 'china') => (cloud === 'global' ? 'is reported' : 'is listed')

describe.each(['global', 'china'] as const)('in the cloud %s', cloud => {
  test(`a contact that moved is brought with its other folder, though no arrival ${changed(cloud)} there`, async () => {
    const { mailbox, contacts, index, added, main } = await arrange(['Ada', 'Bob'], cloud)
    const friends = addContactFolder(mailbox, main, 'Friends')
    mailbox.logsArrival = () => false
    moveContact(mailbox, added[0]!, friends)
    await index.follow(contacts)
    expect(index.names()).toEqual(['Ada', 'Bob'])
    expect(index.contacts.get(added[0]!.immutableId)).toMatchObject({ folderKey: friends.id })
  })

  test('a contact in Deleted Items, or in a deleted folder, is gone', async () => {
    const { mailbox, contacts, index, added, main } = await arrange(['Ada', 'Bob', 'Cid'], cloud)
    const friends = addContactFolder(mailbox, main, 'Friends')
    moveContact(mailbox, added[0]!, friends)
    removeContactFolder(friends)
    moveContact(mailbox, added[1]!, mailbox.contacts.deleted)
    await index.follow(contacts)
    expect(index.names()).toEqual(['Cid'])
    const keys = added.map(({ immutableId }) => immutableId)
    const read = await contacts.read(keys)
    expect(read.contacts.map(({ fields }) => fields.displayName)).toEqual(['Cid'])
    await expect(contacts.change(keys[1]!, { notes: 'x' })).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('a contact that cannot be read does not keep others from being read', async () => {
    const { mailbox, contacts, index, added } = await arrange(['Ada', 'Bob'], cloud)
    const [ada, bob] = added
    changeContact(mailbox, ada!, { displayName: 5 as unknown as string })
    changeContact(mailbox, bob!, { displayName: 'Bobby' })
    await index.follow(contacts)
    expect(index.names()).toEqual(['Ada', 'Bobby'])
    expect([...index.unreadable]).toEqual([[ada!.immutableId, ada!.changeKey]])
    changeContact(mailbox, ada!, { displayName: 'Ada King' })
    await index.follow(contacts)
    expect(index.names()).toEqual(['Ada King', 'Bobby'])
    expect(index.unreadable.size).toBe(0)
  })

  test('a page that cannot be read is read contact by contact', async () => {
    const names = Array.from({ length: 120 }, (_, nth) => `Person ${String(nth).padStart(3, '0')}`)
    await using arranged = arrangeContacts(server, cloud)
    const { mailbox } = arranged
    const added = names.map(displayName => addContact(mailbox, mailbox.contacts.main, { displayName }))
    const poisoned = `/contacts/${encodeURIComponent(added[7]!.immutableId)}?`
    server.intercept = ({ path }) => {
      const isWhole = /\/contacts(?:\/delta)?\?/.test(path) && path.includes('personalNotes')
      return isWhole || path.includes(poisoned) ? new Response('{"value": [') : null
    }
    const { contacts } = await arranged.connect()
    const [folder] = await contacts.listFolders(never)
    const index = openContactIndex(folder!)
    await index.follow(contacts)
    expect(index.names()).toEqual(names.filter((_, nth) => nth !== 7))
    expect([...index.unreadable.keys()]).toEqual([added[7]!.immutableId])
  })

  test('a quiet folder costs one call, and every kind of change is noticed', async () => {
    const { mailbox, contacts, index, added } = await arrange(['Ada', 'Bob', 'Cid'], cloud)
    const isChanged = async () => {
      const from = [{ folder: index.folder, cursor: index.cursor }]
      return (await contacts.findChanged(from, never)).size > 0
    }
    server.calls.length = 0
    expect(await isChanged()).toBe(false)
    expect(server.calls).toHaveLength(1)
    const changes = [
      () => changeContact(mailbox, added[0]!, { jobTitle: 'Analyst' }),
      () => moveContact(mailbox, added[1]!, mailbox.contacts.deleted),
      () => void addContact(mailbox, mailbox.contacts.main, { displayName: 'Dora' }),
    ]
    for (const change of changes) {
      change()
      expect(await isChanged()).toBe(true)
      await index.follow(contacts)
      expect(await isChanged()).toBe(false)
    }
    expect(index.names()).toEqual(['Ada', 'Cid', 'Dora'])
  })
})

test('reads a contact by its id if a delta leaves out its fields, or reports it twice', async () => {
  const { mailbox, contacts, index, added } = await arrange(['Ada', 'Bob'])
  server.mail.configure({ sparse: 1, repeats: 1 })
  changeContact(mailbox, added[0]!, { jobTitle: 'Analyst' })
  await index.follow(contacts)
  server.mail.configure({ sparse: 0, repeats: 0 })
  expect(index.contacts.get(added[0]!.immutableId)?.fields).toMatchObject({
    displayName: 'Ada',
    jobTitle: 'Analyst',
  })
})

test('keeps asking for a contact that a delta names and that is not found yet, for a minute', async () => {
  const { mailbox, email, index, added } = await arrange(['Ada', 'Bob'])
  let aheadMs = 0
  const { contacts } = server.connect(email, { now: () => Date.now() + aheadMs })
  server.mail.configure({ sparse: 1 })
  const isAsked = (path: string) => path.includes(`/contacts/${encodeURIComponent(added[0]!.immutableId)}?`)
  const notFound = () => Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 })
  server.intercept = ({ path }) => (isAsked(path) ? notFound() : null)
  changeContact(mailbox, added[0]!, { jobTitle: 'Analyst' })
  await index.follow(contacts)
  server.mail.configure({ sparse: 0 })
  expect(index.names()).toEqual(['Ada', 'Bob'])
  const from = [{ folder: index.folder, cursor: index.cursor }]
  expect((await contacts.findChanged(from, never)).size).toBe(1)
  aheadMs = 30_000
  await index.follow(contacts)
  expect(index.names()).toEqual(['Ada', 'Bob'])
  aheadMs = 90_000
  await index.follow(contacts)
  server.intercept = null
  expect(index.names()).toEqual(['Bob'])
})

test.each(['next', 'delta', null] as const)('begins again if the links of the kind %s expire', async at => {
  await using arranged = arrangeContacts(server)
  const { mailbox, world } = arranged
  const people = Array.from({ length: 450 }, (_, nth) => ({
    givenName: 'Person',
    familyName: String(nth).padStart(3, '0'),
    email: `${nth}@example.com`,
  }))
  const keys = await world.add(people)
  const { contacts } = await arranged.connect()
  const [folder] = await contacts.listFolders(never)
  const index = openContactIndex(folder!)
  expect(await index.follow(contacts, 2)).toBe(false)
  // It was brought, and goes before the walk begins again.
  moveContact(mailbox, arranged.contact(keys[449]!), mailbox.contacts.deleted)
  server.mail.expire({ user: null, at })
  await index.follow(contacts)
  server.mail.expire({ user: null, at })
  await index.follow(contacts)
  expect(index.contacts.size).toBe(449)
  expect(index.contacts.has(keys[449]!)).toBe(false)
})

test('lists folders of any depth, the default one first', async () => {
  const { mailbox, contacts, main } = await arrange([])
  const work = addContactFolder(mailbox, main, 'Work')
  addContactFolder(mailbox, addContactFolder(mailbox, work, 'Suppliers'), 'Former')
  addContactFolder(mailbox, main, 'Family')
  const folders = await contacts.listFolders(never)
  expect(folders.map(({ name, isDefault }) => [name, isDefault])).toEqual([
    ['Contacts', true],
    ['Family', false],
    ['Work', false],
    ['Suppliers', false],
    ['Former', false],
  ])
})

test('creates a contact once, though another client has moved it since an earlier try', async () => {
  const { mailbox, contacts, index, main } = await arrange([])
  const creation = { folderKey: null, fields: emptyOf('Ada'), creationId: crypto.randomUUID() }
  const made = await contacts.create({ ...creation, mayExist: false })
  const friends = addContactFolder(mailbox, main, 'Friends')
  moveContact(mailbox, mailbox.contacts.byId.get(made.key)!, friends)
  const again = await contacts.create({ ...creation, mayExist: true })
  expect(again).toMatchObject({ key: made.key, folderKey: friends.id })
  expect(index.folder.key).toBe(main.id)
  expect(main.contacts.size).toBe(0)
})

test('follows contacts behind every call of mail, and sends lasting ids with each call', async () => {
  const { email, mailbox } = await arrange([])
  addContact(mailbox, mailbox.contacts.main, { displayName: 'Ada' })
  const taken = new Set<Urgency>()
  const { contacts } = server.connect(email, {
    quotaOf: () => ({
      take: async (_, urgency) => void taken.add(urgency),
      enter: async urgency => {
        taken.add(urgency)
        return { [Symbol.dispose]() {} }
      },
      refused: () => 1,
      secondsFor: () => 0,
    }),
  })
  server.calls.length = 0
  const [folder] = await contacts.listFolders(never)
  const index = openContactIndex(folder!)
  await contacts.findChanged([{ folder: folder!, cursor: null }], never)
  await index.follow(contacts)
  for await (const page of contacts.list(folder!, never)) expect(page).toHaveLength(1)
  await contacts.read([...index.contacts.keys()])
  expect([...taken]).toEqual(['late'])
  for (const { headers } of server.calls) expect(headers.get('prefer')).toContain('IdType="ImmutableId"')
})

test('reads a birthday that a client wrote as midnight of its zone', async () => {
  const { mailbox, contacts, index, main } = await arrange([])
  const written = {
    '11:59 UTC': Date.UTC(1990, 4, 17, 11, 59),
    'midnight in Berlin': Date.UTC(1990, 4, 16, 22),
    'midnight in Los Angeles': Date.UTC(1990, 4, 17, 7),
    'midnight UTC': Date.UTC(1990, 4, 17),
    'midnight in Honolulu': Date.UTC(1990, 4, 17, 10),
    'midnight in Auckland': Date.UTC(1990, 4, 16, 12),
    'midnight in Auckland in summer': Date.UTC(1990, 4, 16, 11),
    'midnight in Sydney': Date.UTC(1990, 4, 16, 14),
    'midnight in the Chatham Islands': Date.UTC(1990, 4, 16, 11, 15),
  }
  for (const [displayName, birthday] of Object.entries(written))
    addContact(mailbox, main, { displayName, birthday })
  await index.follow(contacts)
  for (const { fields } of index.contacts.values())
    expect([fields.displayName, fields.birthday]).toEqual([fields.displayName, '1990-05-17'])
})

function emptyOf(displayName: string) {
  return { ...NO_FIELDS, displayName }
}

test('applies a change again if another client was faster, and keeps the name that it gave', async () => {
  const { mailbox, contacts, added } = await arrange(['Ada'])
  const [ada] = added
  let patches = 0
  server.intercept = ({ method }) => {
    if (method === 'PATCH' && ++patches <= 3) changeContact(mailbox, ada!, { displayName: `Ada ${patches}` })
    return null
  }
  const result = await contacts.change(ada!.immutableId, { givenName: 'Augusta' })
  expect([patches, result.fields.displayName, result.fields.givenName]).toEqual([4, 'Ada 3', 'Augusta'])
  patches = Number.NEGATIVE_INFINITY
  const overtaken = contacts.change(ada!.immutableId, { givenName: 'Grace' })
  await expect(overtaken).rejects.toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
  server.intercept = null
  expect(ada!.givenName).toBe('Augusta')
})

test('loses no deletion that comes before a walk begins again in the midst', async () => {
  await using arranged = arrangeContacts(server)
  const { mailbox } = arranged
  const { main, deleted } = mailbox.contacts
  for (let nth = 0; nth < 250; nth += 1) addContact(mailbox, main, { displayName: `Person ${nth}` })
  const last = addContact(mailbox, main, { displayName: 'On the first page' })
  const { contacts } = await arranged.connect()
  const [folder] = await contacts.listFolders(never)
  const index = openContactIndex(folder!)
  server.intercept = ({ path }) => {
    if (!path.includes('skiptoken')) return null
    server.intercept = null
    moveContact(mailbox, last, deleted)
    server.mail.expire({ user: null, at: 'next' })
    return null
  }
  await index.follow(contacts)
  expect(index.contacts.size).toBe(250)
  expect(index.contacts.has(last.immutableId)).toBe(false)
})

test('a walk goes on with whole contacts after one answer of 503', async () => {
  await using arranged = arrangeContacts(server)
  const { mailbox } = arranged
  for (let nth = 0; nth < 120; nth += 1)
    addContact(mailbox, mailbox.contacts.main, { displayName: `Person ${nth}` })
  const { contacts } = await arranged.connect()
  const [folder] = await contacts.listFolders(never)
  const index = openContactIndex(folder!)
  server.intercept = ({ path }) => {
    if (!path.includes('/contacts/delta')) return null
    server.intercept = null
    return new Response('{}', { status: 503 })
  }
  server.calls.length = 0
  await index.follow(contacts)
  expect(index.contacts.size).toBe(120)
  expect(server.calls.filter(call => !JSON.stringify(call).includes('/contacts/delta'))).toEqual([])
})

test('finds after six hours what no delta reports: a new contact that was moved before any look', async () => {
  const { mailbox, email, index, main } = await arrange(['Ada'])
  const friends = addContactFolder(mailbox, main, 'Friends')
  mailbox.logsArrival = () => false
  moveContact(mailbox, addContact(mailbox, friends, { displayName: 'Bob' }), main)
  const follow = async (hours: number) => {
    const { contacts } = server.connect(email, { now: () => Date.now() + hours * 3_600_000 })
    const from = [{ folder: index.folder, cursor: index.cursor }]
    if ((await contacts.findChanged(from, never)).size > 0) await index.follow(contacts)
    return index.names()
  }
  expect(await follow(0)).toEqual(['Ada'])
  expect(await follow(7)).toEqual(['Ada', 'Bob'])
  index.takeSteps()
  await follow(8)
  expect(index.takeSteps()).toEqual([])
})
