import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hourOn, refusal, type TestClient, useCalendar } from './use-calendar.ts'

const used = useCalendar()
const { api } = used
const calendarId = 'primary'

type Called = Promise<{ status: number; data: unknown }>

let server: Server
let address: string
let notices: IncomingHttpHeaders[]
let email: string
let client: TestClient

beforeEach(async () => {
  notices = []
  server = createServer((request, response) => {
    notices.push(request.headers)
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const at = server.address()
  address = `http://127.0.0.1:${typeof at === 'object' ? at?.port : ''}/push`
  ;[email] = await used.addUsers('ann')
  client = await used.client(email)
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => void server.close(resolve))
})

const watch = (requestBody: object) =>
  client.api.events.watch(
    { calendarId, requestBody: { id: 'one', type: 'web_hook', address, token: 'secret', ...requestBody } },
    api.options,
  ) as Called
const states = () => notices.map(headers => headers['x-goog-resource-state'])
const waitFor = (expected: string[]) => vi.waitFor(() => expect(states()).toEqual(expected))

test('sends a notice when a channel is opened, and then at each change', async () => {
  const channel = await api.checked('channel', watch({}))
  await waitFor(['sync'])
  const { id } = await client.insert({ ...hourOn(1), summary: 'Lunch' })
  await waitFor(['sync', 'exists'])
  await client.remove(id ?? '')
  await waitFor(['sync', 'exists', 'exists'])
  expect(notices.map(headers => headers['x-goog-message-number'])).toEqual(['1', '2', '3'])
  expect(notices[1]).toMatchObject({
    'x-goog-channel-id': 'one',
    'x-goog-channel-token': 'secret',
    'x-goog-channel-expiration': new Date(Number(channel.expiration)).toUTCString(),
    'x-goog-resource-id': channel.resourceId,
    'x-goog-resource-uri': expect.stringMatching(
      /^https:\/\/www\.googleapis\.com\/calendar\/v3\/calendars\/primary\/events/,
    ),
    'content-length': '0',
  })
})

test('is silent after a channel was stopped, or has ended', async () => {
  const { resourceId } = await api.checked('channel', watch({}))
  const later = Date.now() + 60_000
  await watch({ id: 'two', expiration: String(later) })
  await watch({ id: 'three' })
  await waitFor(['sync', 'sync', 'sync'])
  const stop = (given: object) => client.api.channels.stop({ requestBody: given }, api.options) as Called
  expect(await refusal(stop({ id: 'one', resourceId: 'other' }))).toEqual([404, 'notFound'])
  expect((await stop({ id: 'one', resourceId })).status).toBe(204)
  await api.box.ask('POST', '/clock', { advanceSeconds: 61 })
  client = await used.client(email)
  await client.insert(hourOn(1))
  await waitFor(['sync', 'sync', 'sync', 'exists'])
  expect(notices[3]?.['x-goog-channel-id']).toBe('three')
  const { data } = await api.box.ask('GET', '/calendar/channels')
  expect(data.items.map(({ id }: { id: string }) => id)).toEqual(['three'])
})

test('watches the list of calendars, and repeats notices if told so', async () => {
  api.google.calendars.configure({ copies: 2 })
  const requestBody = { id: 'list', type: 'web_hook', address }
  await api.checked('channel', client.api.calendarList.watch({ requestBody }, api.options) as Called)
  await waitFor(['sync', 'sync'])
  await client.api.calendars.insert({ requestBody: { summary: 'Work' } }, api.options)
  await waitFor(['sync', 'sync', 'exists', 'exists'])
})

test('refuses channels that are there already, of another kind, or without HTTPS', async () => {
  await watch({})
  expect(await refusal(watch({}))).toEqual([400, 'channelIdNotUnique'])
  expect(await refusal(watch({ id: 'two', type: 'pigeon' }))).toEqual([400, 'channelUnknownDeliveryMethod'])
  const plain = watch({ id: 'two', address: 'http://example.test/' })
  expect(await refusal(plain)).toEqual([400, 'push.webhookUrlNotHttps'])
})
