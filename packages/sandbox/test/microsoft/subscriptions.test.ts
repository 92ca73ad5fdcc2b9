import { createServer, type IncomingMessage, type Server } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IMMUTABLE } from './client.ts'
import { hour, series } from './make-event.ts'
import { ADA, DESK, EVA, FINN, mimeOf, TEXT, to, useOffice } from './use-office.ts'

const office = useOffice()
const MINUTE_MS = 60_000

interface Notice {
  subscriptionId: string
  clientState: string
  changeType?: string
  lifecycleEvent?: string
  resource: string
  resourceData?: { id: string; '@odata.id': string }
}

let server: Server
let origin: string
/** By path, what came. */
let notices: { path: string; notice: Notice }[]
let requests: number
/** How the endpoint answers a validation, and the status of its other answers. */
let validates: 'well' | 'escaped' | 'as JSON' | 'with 500'
let status: number

beforeEach(async () => {
  notices = []
  requests = 0
  validates = 'well'
  status = 202
  server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', origin)
    const token = searchParams.get('validationToken')
    const body = await bodyOf(request)
    if (token !== null) {
      const type = validates === 'as JSON' ? 'application/json' : 'text/plain'
      response.writeHead(validates === 'with 500' ? 500 : 200, { 'content-type': type })
      return void response.end(validates === 'escaped' ? encodeURIComponent(token) : token)
    }
    requests += 1
    const { value } = JSON.parse(body) as { value: Notice[] }
    notices.push(...value.map(notice => ({ path: pathname, notice })))
    return void response.writeHead(status).end()
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => void server.close(resolve))
})

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const now = () => office.sandbox.world.clock.now()
const inMinutes = (minutes: number) => new Date(now() + minutes * MINUTE_MS).toISOString()

const subscribe = (body: object = {}, user = EVA, headers: Record<string, string> = IMMUTABLE) =>
  office.ask(
    user,
    'POST',
    '/v1.0/subscriptions',
    {
      changeType: 'created,updated,deleted',
      notificationUrl: `${origin}/notices`,
      lifecycleNotificationUrl: `${origin}/lifecycle`,
      resource: 'me/messages',
      expirationDateTime: inMinutes(1_000),
      clientState: 'secret',
      ...body,
    },
    headers,
  )

const deliver = async (user = EVA) => {
  const raw = Buffer.from(`From: out@far.test\r\nTo: ${user}\r\nSubject: New\r\n\r\nHi\r\n`)
  return (await office.control('POST', `/users/${user}/messages`, raw)).data.id as string
}

const arrived = (count: number, path = '/notices') =>
  vi.waitUntil(
    () => {
      const came = notices.filter(one => one.path === path).map(({ notice }) => notice)
      return came.length >= count ? came : null
    },
    { timeout: 60_000, interval: 5 },
  )

test('sends notices of messages of every folder, by the ids that last', async () => {
  const made = await subscribe()
  expect(made).toMatchObject({
    status: 201,
    data: { resource: 'me/messages', clientState: 'secret', changeType: 'created,updated,deleted' },
  })
  const id = await deliver()
  await office.ask(EVA, 'PATCH', `messages/${id}`, { isRead: true })
  await office.ask(EVA, 'POST', `messages/${id}/move`, { destinationId: 'archive' })
  await office.ask(EVA, 'POST', `messages/${id}/permanentDelete`)
  const came = await arrived(4)
  expect(came.map(({ changeType }) => changeType)).toEqual(['created', 'updated', 'updated', 'deleted'])
  for (const notice of came)
    expect(notice).toMatchObject({
      subscriptionId: made.data.id,
      clientState: 'secret',
      resourceData: { id, '@odata.type': '#Microsoft.Graph.Message' },
    })
  const { data } = await office.ask(EVA, 'GET', '/v1.0/me')
  expect(came[0]?.resource).toBe(`Users/${data.id}/Messages/${id}`)
})

test('sends notices of one folder, where a move is a deletion and an arrival', async () => {
  await subscribe({ resource: "me/mailFolders('inbox')/messages", changeType: 'created,deleted' })
  const id = await deliver()
  await office.ask(EVA, 'PATCH', `messages/${id}`, { isRead: true })
  await office.ask(EVA, 'POST', `messages/${id}/move`, { destinationId: 'archive' })
  await office.ask(EVA, 'PATCH', `messages/${id}`, { isRead: false })
  await office.ask(EVA, 'POST', `messages/${id}/move`, { destinationId: 'inbox' })
  const came = await arrived(3)
  expect(came.map(({ changeType }) => changeType)).toEqual(['created', 'deleted', 'created'])
})

test('names the ids of clients without the preference, which change', async () => {
  await subscribe({}, EVA, {})
  const id = await deliver()
  const [created] = await arrived(1)
  expect(created?.resourceData?.id).not.toBe(id)
  expect((await office.ask(EVA, 'GET', `messages/${created?.resourceData?.id}`)).status).toBe(200)
  await office.ask(EVA, 'POST', `messages/${id}/move`, { destinationId: 'archive' })
  const [, gone, there] = await arrived(3)
  expect([gone?.changeType, there?.changeType]).toEqual(['deleted', 'created'])
  expect(gone?.resourceData?.id).toBe(created?.resourceData?.id)
  expect(there?.resourceData?.id).not.toBe(created?.resourceData?.id)
})

test('sends notices of drafts and of sent copies, too', async () => {
  await subscribe({ changeType: 'created' })
  await office.ask(EVA, 'POST', 'messages', mimeOf({ To: FINN, Subject: 'D' }), TEXT)
  await office.ask(EVA, 'POST', 'sendMail', { message: { subject: 'S', toRecipients: [to(ADA)] } })
  await arrived(2)
})

test.each(['escaped', 'as JSON', 'with 500'] as const)(
  'makes no subscription of an endpoint that answers its validation %s',
  async how => {
    validates = how
    expect(await subscribe()).toMatchObject({ status: 400, data: { error: { code: 'ValidationError' } } })
    expect((await office.ask(EVA, 'GET', '/v1.0/subscriptions')).data.value).toEqual([])
  },
)

test.each([
  [{ notificationUrl: 'http://far.test/notices' }, 400],
  [{ notificationUrl: undefined }, 400],
  [{ changeType: 'created,moved' }, 400],
  [{ resource: 'me/drive/root' }, 400],
  [{ resource: 'me/calendars/none/contacts' }, 400],
  [{ resource: 'me/calendars/none/events' }, 404],
  [{ resource: 'me/mailFolders/inbox/contacts' }, 400],
  [{ resource: 'me/contactFolders/none/contacts' }, 404],
  [{ resource: `users/${FINN}/contacts` }, 404],
  [{ resource: 'me/mailFolders/none/messages' }, 404],
  [{ resource: `users/${DESK}/messages` }, 403],
  [{ resource: `users/${FINN}/messages` }, 404],
  [{ clientState: 'x'.repeat(129) }, 400],
  [{ includeResourceData: true }, 400],
  [{ expirationDateTime: '2020-01-01T00:00:00Z' }, 400],
  [{ expirationDateTime: undefined }, 400],
])('refuses the subscription %j', async (body, expected) => {
  expect((await subscribe(body)).status).toBe(expected)
})

test('grants 45 to 10,080 minutes, or what the sandbox is set to', async () => {
  const granted = async (minutes: number) => {
    const { status: answered, data } = await subscribe({ expirationDateTime: inMinutes(minutes) })
    return answered === 201 ? Math.round((Date.parse(data.expirationDateTime) - now()) / MINUTE_MS) : answered
  }
  expect(await granted(1)).toBe(45)
  expect(await granted(10_079)).toBe(10_079)
  expect(await granted(10_085)).toBe(400)
  await office.control('PATCH', '/pushes', { provider: 'microsoft', minutesMax: 4_230 })
  expect(await granted(10_000)).toBe(4_230)
})

test('renews and deletes a subscription, which expires otherwise', async () => {
  const { data } = await subscribe({ expirationDateTime: inMinutes(60) })
  const path = `/v1.0/subscriptions/${data.id}`
  const renewed = await office.ask(EVA, 'PATCH', path, { expirationDateTime: inMinutes(120) })
  expect(renewed).toMatchObject({ status: 200, data: { id: data.id } })
  expect((await office.ask(EVA, 'PATCH', path, { clientState: 'other' })).status).toBe(400)
  expect((await office.ask(FINN, 'GET', path)).status).toBe(404)
  const other = await subscribe({}, FINN)
  expect((await office.ask(FINN, 'DELETE', `/v1.0/subscriptions/${other.data.id}`)).status).toBe(204)
  expect((await office.ask(FINN, 'GET', '/v1.0/subscriptions')).data.value).toEqual([])
  await office.control('POST', '/clock', { advanceSeconds: 61 * 60 })
  const token = { authorization: `Bearer ${await office.token(EVA, ['Mail.ReadWrite'])}` }
  expect((await office.ask(EVA, 'GET', path, undefined, token)).status).toBe(200)
  await office.control('POST', '/clock', { advanceSeconds: 60 * 60 })
  const later = { authorization: `Bearer ${await office.token(EVA, ['Mail.ReadWrite', 'User.Read'])}` }
  expect(await office.ask(EVA, 'GET', path, undefined, later)).toMatchObject({
    status: 404,
    data: { error: { code: 'ResourceNotFound' } },
  })
})

test('sends lifecycle events, and carries them out', async () => {
  const { data } = await subscribe()
  const event = (name: string) => office.control('POST', '/subscriptions/events', { event: name, user: EVA })
  await event('reauthorizationRequired')
  await arrived(1, '/lifecycle')
  await deliver()
  const path = `/v1.0/subscriptions/${data.id}`
  expect((await office.ask(EVA, 'POST', `${path}/reauthorize`)).status).toBe(204)
  await deliver()
  await event('missed')
  await event('subscriptionRemoved')
  const events = await arrived(3, '/lifecycle')
  expect(events.map(({ lifecycleEvent }) => lifecycleEvent)).toEqual([
    'reauthorizationRequired',
    'missed',
    'subscriptionRemoved',
  ])
  expect(events[0]).toMatchObject({ subscriptionId: data.id, clientState: 'secret', resource: 'me/messages' })
  // The first delivery came while the subscription was paused.
  expect(await arrived(1)).toHaveLength(1)
  expect((await office.ask(EVA, 'GET', path)).status).toBe(404)
})

test.each([{ passwordChanged: true }, { suspended: true }])(
  'removes the subscriptions of a user with %j',
  async change => {
    await subscribe()
    await subscribe({}, FINN)
    await office.control('PATCH', `/users/${EVA}`, change)
    await deliver()
    const [event] = await arrived(1, '/lifecycle')
    expect(event?.lifecycleEvent).toBe('subscriptionRemoved')
    const { data } = await office.control('GET', '/subscriptions')
    expect(data.items.map(({ user }: { user: string }) => user)).toEqual([FINN])
  },
)

test('loses, doubles and retries notices as it is set to', async () => {
  await subscribe()
  const settings = (body: object) => office.control('PATCH', '/pushes', { provider: 'microsoft', ...body })
  await settings({ drop: 1, missed: true })
  await deliver()
  expect((await arrived(1, '/lifecycle'))[0]?.lifecycleEvent).toBe('missed')
  await settings({ drop: 0, copies: 3 })
  const id = await deliver()
  const came = await arrived(3)
  expect(came.map(({ resourceData }) => resourceData?.id)).toEqual([id, id, id])
  await settings({ copies: 1 })
  status = 503
  await deliver()
  await arrived(5)
  status = 202
  await vi.waitUntil(() => requests >= 7, { timeout: 60_000 })
})

test('holds notices back for as long as it is set to', async () => {
  const settings = (body: object) => office.control('PATCH', '/pushes', { provider: 'microsoft', ...body })
  await subscribe()
  await settings({ delayMilliseconds: 3_600_000 })
  await deliver()
  await settings({ delayMilliseconds: 0 })
  const id = await deliver()
  expect((await arrived(1)).map(({ resourceData }) => resourceData?.id)).toEqual([id])
})

test('finds nothing by id right after a notice, for as long as it is set to', async () => {
  await office.control('PATCH', '/graph', { notFoundAfterNotice: 2 })
  await subscribe()
  const id = await deliver()
  await arrived(1)
  const read = async () => (await office.ask(EVA, 'GET', `messages/${id}`)).status
  expect([await read(), await read(), await read()]).toEqual([404, 404, 200])
  expect(await office.list(EVA, 'inbox')).toHaveLength(1)
})

test("subscribes with Microsoft's own client", async () => {
  const client = await office.client(EVA)
  const made = await client.api('/subscriptions').post({
    changeType: 'created',
    notificationUrl: `${origin}/notices`,
    resource: "/me/mailFolders('inbox')/messages",
    expirationDateTime: inMinutes(100),
  })
  await client.api(`/subscriptions/${made.id}`).patch({ expirationDateTime: inMinutes(200) })
  await deliver()
  await arrived(1)
  await client.api(`/subscriptions/${made.id}`).delete()
  expect((await client.api('/subscriptions').get()).value).toEqual([])
})

test('sends notices of contacts of every folder to those who subscribed to them', async () => {
  const made = await subscribe({ resource: 'me/contacts' })
  expect(made).toMatchObject({ status: 201, data: { resource: 'me/contacts' } })
  await deliver()
  const { id } = (await office.ask(EVA, 'POST', 'contacts', { givenName: 'Ada' }, IMMUTABLE)).data
  const folder = await office.ask(EVA, 'POST', 'contactFolders', { displayName: 'Friends' })
  await office.ask(EVA, 'PATCH', `contacts/${id}`, { parentFolderId: folder.data.id })
  await office.ask(EVA, 'POST', `contacts/${id}/permanentDelete`)
  const came = await arrived(3)
  expect(came.map(({ changeType }) => changeType)).toEqual(['created', 'updated', 'deleted'])
  for (const { resource, resourceData } of came) {
    expect(resource).toMatch(/^Users\/.*\/Contacts\/./)
    expect(resourceData).toMatchObject({ '@odata.type': '#Microsoft.Graph.Contact', id })
  }
})

test.each(['me/events', 'me/calendar/events'])(
  'sends notices of events to subscribers of %s',
  async resource => {
    expect(await subscribe({ resource })).toMatchObject({ status: 201, data: { resource } })
    const made = await office.ask(EVA, 'POST', 'events', series('2026-12-01', { type: 'daily' }), IMMUTABLE)
    const { id } = made.data
    const query = 'startDateTime=2026-12-01&endDateTime=2027-01-01'
    const view = await office.ask(EVA, 'GET', `calendarView?${query}`, undefined, IMMUTABLE)
    const [first, second] = view.data.value
    await office.ask(EVA, 'PATCH', `events/${first.id}`, { subject: 'Once' })
    await office.ask(EVA, 'DELETE', `events/${second.id}`)
    await office.ask(EVA, 'DELETE', `events/${id}`)
    const came = await arrived(4)
    expect(came.map(notice => [notice.changeType, notice.resourceData?.id])).toEqual([
      ['created', id],
      ['updated', first.id],
      ['deleted', second.id],
      ['deleted', id],
    ])
    for (const notice of came) expect(notice.resource).toMatch(/^Users\/.*\/Events\/./)
  },
)

test('sends no notices of another calendar than the one that was named', async () => {
  const { data } = await office.ask(EVA, 'POST', 'calendars', { name: 'Travel' })
  await subscribe({ resource: `me/calendars/${data.id}/events` })
  await office.ask(EVA, 'POST', 'events', series('2026-12-01', { type: 'daily' }))
  const made = await office.ask(EVA, 'POST', `calendars/${data.id}/events`, hour('2026-12-01'), IMMUTABLE)
  expect((await arrived(1)).map(({ resourceData }) => resourceData?.id)).toEqual([made.data.id])
})
