import { beforeEach, expect, test } from 'vitest'
import type { people_v1 } from '@googleapis/people'
import { requireUser } from '../../src/world/users.ts'
import { NAMES, usePeople } from './use-people.ts'

const used = usePeople()

const DAY_SECONDS = 24 * 3_600

let email: string
let client: people_v1.Resource$People
beforeEach(async () => {
  email = await used.addUser()
  client = await used.client(email)
})

const user = () => requireUser(used.box.sandbox.world.users, email)
const named = (givenName: string) => ({ names: [{ givenName }] })
const add = (...names: string[]) => used.people.add(user(), names.map(named)) as people_v1.Schema$Person[]
const nameOf = ({ names }: people_v1.Schema$Person) => names?.[0]?.displayName
const turn = (seconds: number) => used.box.ask('POST', '/clock', { advanceSeconds: seconds })

const ask = (query: Partial<people_v1.Params$Resource$People$Connections$List>) =>
  client.connections.list(
    { resourceName: 'people/me', personFields: NAMES, pageSize: 2, ...query },
    used.options,
  ) as Promise<{ status: number; data: unknown }>

/** All pages of a listing. */
async function sync(query: Partial<people_v1.Params$Resource$People$Connections$List> = {}) {
  const persons: people_v1.Schema$Person[] = []
  let pageToken: string | null | undefined
  for (;;) {
    const page = await used.checked(
      'connections',
      ask({ requestSyncToken: true, ...query, ...(pageToken && { pageToken }) }),
    )
    persons.push(...(page.connections ?? []))
    pageToken = page.nextPageToken
    if (!pageToken) return { persons, syncToken: page.nextSyncToken ?? '' }
    expect(page.nextSyncToken).toBeUndefined()
  }
}

test('lists everyone page by page, and then only what has changed', async () => {
  const [ann, bob] = add('Ann', 'Bob', 'Cid')
  const first = await sync()
  expect(first.persons.map(nameOf)).toEqual(['Ann', 'Bob', 'Cid'])
  expect((await sync({ syncToken: first.syncToken })).persons).toEqual([])
  used.people.change(user(), ann?.resourceName ?? '', named('Anna'))
  used.people.remove(user(), bob?.resourceName ?? '')
  add('Dan')
  const { persons, syncToken } = await sync({ syncToken: first.syncToken })
  expect(persons.map(person => nameOf(person) ?? person.metadata?.deleted)).toEqual(['Anna', true, 'Dan'])
  expect(persons[1]?.resourceName).toBe(bob?.resourceName)
  expect((await sync({ syncToken })).persons).toEqual([])
})

test('loses nothing that changes between two pages', async () => {
  const [ann] = add('Ann', 'Bob', 'Cid')
  const page = await used.checked('connections', ask({ requestSyncToken: true }))
  used.people.change(user(), ann?.resourceName ?? '', named('Anna'))
  const pageToken = page.nextPageToken ?? ''
  const last = await used.checked('connections', ask({ requestSyncToken: true, pageToken }))
  expect(last.connections?.map(nameOf)).toEqual(['Cid', 'Anna'])
  const news = await sync({ syncToken: last.nextSyncToken ?? '' })
  expect(news.persons.map(nameOf)).toEqual(['Anna'])
})

test('shows changes in syncs only after the lag, and at once everywhere else', async () => {
  const [ann] = add('Ann')
  const { syncToken } = await sync()
  used.people.configure({ syncLagSeconds: 120 })
  await turn(300)
  used.people.change(user(), ann?.resourceName ?? '', named('Anna'))
  add('Bob')
  const late = await sync({ syncToken })
  expect(late.persons).toEqual([])
  expect((await sync()).persons.map(nameOf)).toEqual(['Ann'])
  expect((await sync({ requestSyncToken: false })).persons.map(nameOf)).toEqual(['Anna', 'Bob'])
  await turn(121)
  expect((await sync({ syncToken: late.syncToken })).persons.map(nameOf)).toEqual(['Anna', 'Bob'])
})

test('lets sync tokens expire seven days after the full sync, however often they are exchanged', async () => {
  let { syncToken } = await sync()
  await turn(6 * DAY_SECONDS)
  client = await used.client(email)
  ;({ syncToken } = await sync({ syncToken }))
  await turn(DAY_SECONDS + 60)
  client = await used.client(email)
  const { status, data } = await ask({ syncToken })
  expect(status).toBe(400)
  expect(data).toMatchObject({
    error: {
      status: 'FAILED_PRECONDITION',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'EXPIRED_SYNC_TOKEN' }],
    },
  })
})

test('lets sync tokens expire on demand, those of one user or of all', async () => {
  const { syncToken } = await sync()
  await used.box.ask('POST', '/people/expire', { user: 'ada@gmail.test' })
  expect((await ask({ syncToken })).status).toBe(200)
  await used.box.ask('POST', '/people/expire')
  expect((await ask({ syncToken })).status).toBe(400)
})

test.each([
  ['another field', { personFields: 'names' }],
  ['another size', { pageSize: 3 }],
  ['another order', { sortOrder: 'FIRST_NAME_ASCENDING' }],
  ['other sources', { sources: ['READ_SOURCE_TYPE_CONTACT'] }],
])('refuses tokens of a call that asked for %s', async (_, query) => {
  add('Ann', 'Bob', 'Cid')
  const page = await used.checked('connections', ask({ requestSyncToken: true }))
  const { syncToken } = await sync()
  expect((await ask({ syncToken, ...query })).status).toBe(400)
  expect((await ask({ pageToken: page.nextPageToken ?? '', ...query })).status).toBe(400)
})

test.each([
  ['LAST_MODIFIED_DESCENDING', ['Cid', 'Ann', 'Bob']],
  ['LAST_MODIFIED_ASCENDING', ['Bob', 'Ann', 'Cid']],
  ['FIRST_NAME_ASCENDING', ['Ann', 'Bob', 'Cid']],
])('lists in the order %s', async (sortOrder, names) => {
  add('Bob', 'Ann', 'Cid')
  expect((await sync({ sortOrder })).persons.map(nameOf)).toEqual(names)
})

test('reports merged contacts under their former names, in syncs only', async () => {
  const [ann, anna] = add('Ann', 'Anna')
  const { syncToken } = await sync()
  const names = [ann?.resourceName ?? '', anna?.resourceName ?? '']
  const merged = (await used.box.ask('POST', `/people/${email}/merge`, { resourceNames: names })).data
  const { persons } = await sync({ syncToken })
  expect(persons.map(({ metadata }) => metadata?.deleted ?? metadata?.previousResourceNames)).toEqual([
    true,
    true,
    names,
  ])
  const full = await sync()
  expect(full.persons.map(({ resourceName }) => resourceName)).toEqual([merged.resourceName])
  expect(full.persons[0]?.metadata?.previousResourceNames).toBeUndefined()
  expect(full.persons[0]?.metadata?.sources?.[0]?.id).toBe(ann?.metadata?.sources?.[0]?.id)
})

test('counts reads, and the first pages of full syncs apart', async () => {
  used.people.configure({ quota: 'on', readsPerMinute: 6, fullSyncsPerMinute: 1 })
  const { syncToken } = await sync()
  const refused = await ask({ requestSyncToken: true })
  expect([refused.status, (refused.data as { error: { status: string } }).error.status]).toEqual([
    429,
    'RESOURCE_EXHAUSTED',
  ])
  for (let count = 0; count < 4; count += 1) expect((await ask({ syncToken })).status).toBe(200)
  expect(await ask({ syncToken })).toMatchObject({
    status: 429,
    data: { error: { details: [{ reason: 'RATE_LIMIT_EXCEEDED' }] } },
  })
  await turn(61)
  expect((await ask({ syncToken })).status).toBe(200)
})

test('begins with contacts if the user begins with mail, and forgets what was made at a reset', async () => {
  const count = async () => (await used.box.ask('GET', '/people/ada@gmail.test')).data.items.length
  const seeded = await count()
  expect(seeded).toBeGreaterThan(5)
  expect(await used.box.ask('GET', `/people/${email}`)).toMatchObject({ data: { items: [] } })
  await used.box.ask('POST', '/people/ada@gmail.test', { contacts: [named('Zoe')] })
  expect(await count()).toBe(seeded + 1)
  await used.box.ask('POST', '/reset')
  expect(await count()).toBe(seeded)
})
