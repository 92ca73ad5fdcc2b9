import { expect, test } from 'vitest'
import type { User } from '../../src/world/users.ts'
import type { Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'
import { IMMUTABLE } from './client.ts'
import { useGraph } from './use-graph.ts'
import { openGraphValidation } from './validation.ts'

const validate: Validate<Answers> = openGraphValidation()
const graph = useGraph()
const MARK = 'String {00020329-0000-0000-c000-000000000046} Name Mark'

const FULL = {
  displayName: 'Ada "Countess" Lovelace',
  givenName: 'Ada',
  surname: 'Lovelace',
  nickName: 'Enchantress',
  companyName: 'Engines Ltd.',
  emailAddresses: [{ name: 'Ada', address: 'ada@example.com' }],
  businessPhones: ['+44 1', '+44 2'],
  homePhones: [],
  mobilePhone: '+44 3',
  birthday: '1815-12-10T11:59:00Z',
  personalNotes: 'First\nSecond',
  homeAddress: { city: 'London', postalCode: null },
  categories: ['Red category'],
}

async function make(user: User, fields: object = FULL, path = 'contacts') {
  const { status, data } = await graph.ask(user, 'POST', path, fields, IMMUTABLE)
  expect(status, JSON.stringify(data)).toBe(201)
  return data
}

const names = (answer: { data: { value: { displayName: string }[] } }) =>
  answer.data.value.map(({ displayName }) => displayName)

test("answers contacts, folders and photos in Microsoft's own types", async () => {
  const eva = graph.addUser('eva@office.test', 20)
  const made = await make(eva)
  expect(made).toMatchObject({ ...FULL, personalNotes: 'First\r\nSecond', homeAddress: { city: 'London' } })
  validate('contact', made)
  validate('contact', (await graph.ask(eva, 'GET', `contacts/${made.id}`)).data)
  const list = (await graph.ask(eva, 'GET', 'contacts?$top=50')).data.value
  expect(list.length).toBeGreaterThan(4)
  for (const contact of list) validate('contact', contact)
  const folders = (await graph.ask(eva, 'GET', 'contactFolders')).data.value
  expect(folders).toMatchObject([{ displayName: 'Friends' }])
  for (const folder of folders) validate('contactFolder', folder)

  const photo = `contacts/${made.id}/photo`
  expect((await graph.ask(eva, 'GET', `${photo}/$value`)).status).toBe(404)
  const image = { 'content-type': 'image/png' }
  expect((await graph.ask(eva, 'PUT', `${photo}/$value`, 'not empty', image)).status).toBe(200)
  validate('photo', (await graph.ask(eva, 'GET', photo)).data)
  const read = await graph.ask(eva, 'GET', `${photo}/$value`)
  expect([read.data, read.headers.get('content-type')]).toEqual(['not empty', 'image/png'])
})

test('has the default folder in no list, and finds it by its name', async () => {
  const eva = graph.addUser('eva@office.test')
  const main = await graph.ask(eva, 'GET', "contactFolders('contacts')")
  expect(main.data).toMatchObject({ displayName: 'Contacts' })
  const friends = await graph.ask(eva, 'POST', 'contactFolders', { displayName: 'Friends' })
  const path = `contactFolders/${friends.data.id}/childFolders`
  const old = await graph.ask(eva, 'POST', path, { displayName: 'Old ones' })
  expect(names(await graph.ask(eva, 'GET', 'contactFolders'))).toEqual(['Friends'])
  expect(names(await graph.ask(eva, 'GET', path))).toEqual(['Old ones'])
  expect(old.data.parentFolderId).toBe(friends.data.id)
  expect((await graph.ask(eva, 'POST', 'contactFolders', { displayName: 'friends' })).status).toBe(409)
  expect((await graph.ask(eva, 'DELETE', 'contactFolders/contacts')).status).toBe(403)
  expect((await graph.ask(eva, 'DELETE', path.replace('/childFolders', ''))).status).toBe(204)
  expect(names(await graph.ask(eva, 'GET', 'contactFolders'))).toEqual([])
})

test.each([
  [{ businessPhones: ['1', '2', '3'] }, 'The multi value property BusinessPhones has 3 entries'],
  [{ homePhones: ['1', '2', '3'] }, 'The multi value property HomePhones has 3 entries'],
  [{ emailAddresses: ['a', 'b', 'c', 'd'].map(address => ({ address })) }, 'EmailAddresses has 4 entries'],
  [{ shoeSize: '42' }, "The property 'shoeSize' does not exist"],
  [{ birthday: '--12-10' }, 'Cannot convert'],
  [{ givenName: 'x'.repeat(4 * 1024 * 1024) }, 'too large'],
])('refuses %j', async (fields, message) => {
  const eva = graph.addUser('eva@office.test')
  const { status, data } = await graph.ask(eva, 'POST', 'contacts', fields)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(data.error.message).toContain(message)
})

test('overwrites the display name when a part of the name is changed without it', async () => {
  const eva = graph.addUser('eva@office.test')
  const { id } = await make(eva)
  const patch = async (body: object) =>
    (await graph.ask(eva, 'PATCH', `contacts/${id}`, body, IMMUTABLE)).data.displayName
  expect(await patch({ jobTitle: 'Analyst' })).toBe(FULL.displayName)
  expect(await patch({ givenName: 'Augusta' })).toBe('Augusta Lovelace')
  expect(await patch({ givenName: 'Ada', displayName: 'The Countess' })).toBe('The Countess')
})

test('refuses a change of another version', async () => {
  const eva = graph.addUser('eva@office.test')
  const made = await make(eva)
  const path = `contacts/${made.id}`
  const since = { 'if-match': made['@odata.etag'] }
  expect((await graph.ask(eva, 'PATCH', path, { jobTitle: 'A' }, since)).status).toBe(200)
  const late = await graph.ask(eva, 'PATCH', path, { jobTitle: 'B' }, since)
  expect([late.status, late.data.error.code]).toEqual([412, 'ErrorIrresolvableConflict'])
  expect((await graph.ask(eva, 'DELETE', path, undefined, since)).status).toBe(412)
})

test('finds contacts by an extended property, by a filter, in an order and in pages', async () => {
  const eva = graph.addUser('eva@office.test')
  for (const [index, surname] of ['Ames', 'Brand', 'Cole'].entries())
    await make(eva, {
      surname,
      singleValueExtendedProperties: [{ id: MARK, value: `mark ${index}` }],
      emailAddresses: [{ address: `${surname}@example.com` }],
    })
  const asked = async (query: string) => names(await graph.ask(eva, 'GET', `contacts?${query}`))
  const marked = `$filter=singleValueExtendedProperties/Any(ep: ep/id eq '${MARK}' and ep/value eq 'mark 1')`
  expect(await asked(marked)).toEqual(['Brand'])
  const expanded = await graph.ask(
    eva,
    'GET',
    `contacts?${marked}&$select=surname&$expand=singleValueExtendedProperties($filter=id eq '${MARK}')`,
  )
  expect(expanded.data.value[0]).toMatchObject({
    surname: 'Brand',
    singleValueExtendedProperties: [{ id: MARK, value: 'mark 1' }],
  })
  expect(await asked("$filter=emailAddresses/any(a: a/address eq 'cole@example.com')")).toEqual(['Cole'])
  expect(await asked('$orderby=surname desc&$top=2')).toEqual(['Cole', 'Brand'])
  const first = await graph.ask(eva, 'GET', 'contacts?$orderby=surname&$top=2&$count=true')
  expect(first.data['@odata.count']).toBe(3)
  expect(names(await graph.ask(eva, 'GET', first.data['@odata.nextLink']))).toEqual(['Cole'])
})

test('deletes into Deleted Items, where the lasting id still finds the contact', async () => {
  const eva = graph.addUser('eva@office.test')
  const { id } = await make(eva)
  expect((await graph.ask(eva, 'DELETE', `contacts/${id}`)).status).toBe(204)
  const trash = await graph.ask(eva, 'GET', 'mailFolders/deleteditems')
  const kept = await graph.ask(eva, 'GET', `contacts/${id}`)
  expect([kept.status, kept.data.parentFolderId]).toEqual([200, trash.data.id])
  expect((await graph.ask(eva, 'GET', 'contacts')).data.value).toEqual([])
  expect((await graph.ask(eva, 'DELETE', `contacts/${id}`)).status).toBe(204)
  expect((await graph.ask(eva, 'GET', `contacts/${id}`)).status).toBe(404)
})

test('needs a scope of contacts, and one that writes for a change', async () => {
  const eva = graph.addUser('eva@office.test')
  const status = async (method: string, scopes: string[]) =>
    (await graph.ask(eva, method, 'contacts', method === 'POST' ? {} : undefined, {}, scopes)).status
  expect(await status('GET', ['Mail.ReadWrite'])).toBe(403)
  expect(await status('GET', ['Contacts.Read'])).toBe(200)
  expect(await status('POST', ['Contacts.Read'])).toBe(403)
  expect(await status('POST', ['Contacts.ReadWrite'])).toBe(201)
})

test('reports what changed in a folder since a link, each contact once', async () => {
  const eva = graph.addUser('eva@office.test')
  const made = []
  for (let count = 0; count < 12; count += 1) made.push(await make(eva, { surname: `Person ${count}` }))
  const first = await graph.deltaFrom(eva, 'contacts/delta?$select=displayName', IMMUTABLE)
  expect([first.items.length, first.pages]).toEqual([12, 2])
  const [one, two, three] = made
  const friends = (await graph.ask(eva, 'POST', 'contactFolders', { displayName: 'Friends' })).data.id
  const path = `contactFolders/${friends}/contacts/delta`
  const ofFriends = await graph.deltaFrom(eva, path, IMMUTABLE)
  await graph.ask(eva, 'PATCH', `contacts/${one.id}`, { jobTitle: 'A' })
  await graph.ask(eva, 'PATCH', `contacts/${one.id}`, { surname: 'Renamed' })
  await graph.ask(eva, 'DELETE', `contacts/${two.id}`)
  await graph.ask(eva, 'PATCH', `contacts/${three.id}`, { parentFolderId: friends })
  const added = await make(eva, { surname: 'New' })
  const later = await graph.deltaFrom(eva, first.link, IMMUTABLE)
  expect(later.items).toMatchObject([
    { id: one.id, displayName: 'Renamed' },
    { id: two.id, '@removed': { reason: 'deleted' } },
    { id: three.id, '@removed': { reason: 'deleted' } },
    { id: added.id, displayName: 'New' },
  ])
  expect((await graph.deltaFrom(eva, ofFriends.link, IMMUTABLE)).items).toMatchObject([{ id: three.id }])
  expect((await graph.deltaFrom(eva, later.link, IMMUTABLE)).items).toEqual([])

  graph.mail.expire({ user: eva, at: null })
  const late = await graph.ask(eva, 'GET', later.link, undefined, IMMUTABLE)
  expect([late.status, late.data.error.code]).toEqual([410, 'SyncStateNotFound'])
})

test('may report a contact twice, and leave out what did not change', async () => {
  const eva = graph.addUser('eva@office.test')
  const { id } = await make(eva)
  const { link } = await graph.deltaFrom(eva, 'contacts/delta', IMMUTABLE)
  graph.mail.configure({ repeats: 1, sparse: 1 })
  await graph.ask(eva, 'PATCH', `contacts/${id}`, { jobTitle: 'Analyst' })
  const { items } = await graph.deltaFrom(eva, link, IMMUTABLE)
  expect(items).toHaveLength(2)
  expect(items[0]).toMatchObject({ id, jobTitle: 'Analyst' })
  expect(items[0]).not.toHaveProperty('displayName')
})
