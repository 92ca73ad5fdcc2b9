import type { people_v1 } from '@googleapis/people'
import { beforeEach, expect, test } from 'vitest'
import { requireUser } from '../../src/world/users.ts'
import { CONTACTS, READONLY, usePeople } from './use-people.ts'

const used = usePeople()
const FIELDS = 'names,emailAddresses,phoneNumbers,clientData,memberships,photos,metadata'

let email: string
let client: people_v1.Resource$People
beforeEach(async () => {
  email = await used.addUser()
  client = await used.client(email)
})

const user = () => requireUser(used.box.sandbox.world.users, email)
const create = (requestBody: people_v1.Schema$Person) =>
  used.checked('person', client.createContact({ personFields: FIELDS, requestBody }, used.options))
const get = (resourceName: string) =>
  used.checked('person', client.get({ resourceName, personFields: FIELDS }, used.options))
const update = (person: people_v1.Schema$Person, updatePersonFields: string) =>
  client.updateContact(
    {
      resourceName: person.resourceName ?? '',
      updatePersonFields,
      personFields: FIELDS,
      requestBody: person,
    },
    used.options,
  )

test('creates, changes and deletes a contact', async () => {
  const made = await create({
    names: [{ givenName: 'Ada', familyName: 'Lovelace' }],
    emailAddresses: [{ value: 'ada@example.com', type: 'home' }, { value: 'al@example.com' }],
    clientData: [{ key: 'made by', value: '1' }],
  })
  expect(made.names).toMatchObject([{ displayName: 'Ada Lovelace', unstructuredName: 'Ada Lovelace' }])
  expect(made.emailAddresses).toMatchObject([
    { value: 'ada@example.com', type: 'home', formattedType: 'Home', metadata: { primary: true } },
    { value: 'al@example.com' },
  ])
  expect(made.memberships).toMatchObject([{ contactGroupMembership: { contactGroupId: 'myContacts' } }])
  expect(made.photos).toMatchObject([{ default: true }])
  const name = made.resourceName ?? ''

  const { data, status } = await update({ ...made, emailAddresses: [] }, 'emailAddresses')
  expect(status).toBe(200)
  expect(data.etag).not.toBe(made.etag)
  expect(data.emailAddresses).toBeUndefined()
  expect(data.clientData).toMatchObject([{ key: 'made by', value: '1' }])
  expect((await get(name)).etag).toBe(data.etag)

  expect((await client.deleteContact({ resourceName: name }, used.options)).status).toBe(200)
  expect((await client.deleteContact({ resourceName: name }, used.options)).status).toBe(404)
  expect((await client.get({ resourceName: name, personFields: FIELDS }, used.options)).status).toBe(404)
})

test.each([
  ['the ETag of the source', ({ metadata }: people_v1.Schema$Person) => ({ metadata: metadata ?? {} })],
  ['the ETag of the person', ({ etag }: people_v1.Schema$Person) => ({ etag: etag ?? '' })],
])('refuses a change by %s if the contact has changed since', async (_, versionOf) => {
  const made = await create({ names: [{ givenName: 'Ada' }] })
  const change = { ...versionOf(made), resourceName: made.resourceName ?? '', names: [{ givenName: 'Eve' }] }
  expect((await update(change, 'names')).status).toBe(200)
  expect(await update(change, 'names')).toMatchObject({
    status: 400,
    data: { error: { status: 'FAILED_PRECONDITION', errors: [{ reason: 'failedPrecondition' }] } },
  })
})

test.each([
  ['without a version', { names: [{ givenName: 'Eve' }] }, 'names'],
  ['of no field', { etag: 'x' }, ''],
  ['of a field that does not exist', { etag: 'x' }, 'colour'],
  ['of a field that cannot be written', { etag: 'x' }, 'photos'],
])('refuses a change %s', async (_, given, fields) => {
  const { resourceName = '', etag } = await create({ names: [{ givenName: 'Ada' }] })
  const change = { ...given, ...('etag' in given && { etag: etag ?? '' }), resourceName: resourceName ?? '' }
  expect((await update(change, fields)).status).toBe(400)
})

test('keeps one name, birthday and note at most', async () => {
  const two = [{ givenName: 'Ada' }, { givenName: 'Eve' }]
  expect((await client.createContact({ requestBody: { names: two } }, used.options)).status).toBe(400)
})

test('parses a name that is free text, and stores both forms as they are given together', async () => {
  const free = await create({ names: [{ unstructuredName: 'Grace Brewster Hopper' }] })
  expect(free.names).toMatchObject([
    {
      givenName: 'Grace',
      middleName: 'Brewster',
      familyName: 'Hopper',
      displayName: 'Grace Brewster Hopper',
    },
  ])
  const both = await create({ names: [{ unstructuredName: 'Amazing Grace', givenName: 'Grace' }] })
  expect(both.names).toMatchObject([{ displayName: 'Amazing Grace', givenName: 'Grace' }])
  expect(both.names?.[0]?.familyName).toBeUndefined()
})

test('answers a batch of reads one by one', async () => {
  const made = await create({ names: [{ givenName: 'Ada' }] })
  const resourceNames = ['people/c1', made.resourceName ?? '']
  const { responses } = await used.checked(
    'people',
    client.getBatchGet({ resourceNames, personFields: FIELDS }, used.options),
  )
  expect(responses?.map(({ httpStatusCode }) => httpStatusCode)).toEqual([404, 200])
  expect(responses?.[1]?.person?.resourceName).toBe(made.resourceName)
})

test('serves photos by another URL after each change', async () => {
  const made = await create({ names: [{ givenName: 'Ada' }] })
  const id = (made.resourceName ?? '').slice('people/'.length)
  const show = async (bytes: string) => {
    await used.box.ask('PUT', `/people/${email}/${id}/photo`, Buffer.from(bytes))
    return (await get(made.resourceName ?? '')).photos?.[0]
  }
  const [first, second] = [await show('one'), await show('two')]
  expect(first?.default).toBeUndefined()
  expect(first?.url).not.toBe(second?.url)
  const { pathname, host } = new URL(second?.url ?? '')
  expect(host).toBe('lh3.googleusercontent.com')
  const at = (path: string) => fetch(new URL(path, used.box.origin(host)))
  expect(await (await at(pathname.replace(/=.*/, '=s400'))).text()).toBe('two')
  expect((await at('/contacts/none')).status).toBe(404)
  const { pathname: nobody } = new URL(made.photos?.[0]?.url ?? '')
  expect((await at(nobody)).status).toBe(200)
})

test('opens its methods to the scopes of contacts, and writes to one of them only', async () => {
  const [made] = used.people.add(user(), [{ names: [{ givenName: 'Ada' }] }]) as people_v1.Schema$Person[]
  const status = async (scope: string, method: string, path: string, body?: object) =>
    (await used.ask(await used.token(email, [scope]), method, path, body)).status
  const read = `${made?.resourceName}?personFields=names`
  const write = ['POST', 'people:createContact', {}] as const
  expect([await status(CONTACTS, 'GET', read), await status(CONTACTS, ...write)]).toEqual([200, 200])
  expect([await status(READONLY, 'GET', read), await status(READONLY, ...write)]).toEqual([200, 403])
  expect(await status('https://mail.google.com/', 'GET', read)).toBe(403)
  expect((await used.ask('unknown', 'GET', read)).status).toBe(401)
})

test('refuses every call of a project that has not switched the API on', async () => {
  used.people.configure({ enabled: false })
  expect(
    (await used.ask(await used.token(email), 'GET', 'people/me/connections?personFields=names')).data,
  ).toMatchObject({ error: { code: 403, errors: [{ reason: 'accessNotConfigured' }] } })
})
