import { createServer, type Server } from 'node:http'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { letter } from '../letter.ts'
import { useGmail } from './use-gmail.ts'

const gmail = useGmail()
const TOPIC = 'projects/p/topics/mail'
const SUBSCRIPTION = 'projects/p/subscriptions/mail'
const SERVICE_ACCOUNT = 'push@p.iam.gserviceaccount.test'

interface Notice {
  authorization: string
  body: { message: { data: string; messageId: string }; subscription: string }
}

let server: Server
let notices: Notice[]
let status: number
let endpoint: string

beforeEach(async () => {
  notices = []
  status = 204
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      notices.push({
        authorization: request.headers.authorization ?? '',
        body: JSON.parse(Buffer.concat(chunks).toString()),
      })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/push`
  configure({
    subscriptions: [{ topic: TOPIC, subscription: SUBSCRIPTION, endpoint, serviceAccount: SERVICE_ACCOUNT }],
    intervalMilliseconds: 0,
  })
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => void server.close(resolve))
})

const configure = (settings: object): object => gmail.google.gmail.configurePushes(settings)
const watch = async (body: object = { topicName: TOPIC }, user = 'ada@gmail.test') =>
  gmail.ask(await gmail.token(user), 'POST', 'watch', body)
const deliver = (user = 'ada@gmail.test') => gmail.deliver(user, letter({ Subject: 'x' }))
const arrived = async (count: number): Promise<void> =>
  void (await vi.waitUntil(() => notices.length >= count, { timeout: 120_000 }))

test('signs its notices as Google does, with the address and the history id', async () => {
  const watched = await watch()
  expect(Number(watched.data.expiration) - gmail.sandbox.world.clock.now()).toBeGreaterThan(
    6 * 24 * 3600 * 1000,
  )
  deliver()
  await arrived(2)
  const published = await gmail.google.keys.published()
  const keys = createLocalJWKSet({ keys: published.map(({ jwk }) => jwk) })
  for (const { authorization, body } of notices) {
    const { payload } = await jwtVerify(authorization.replace('Bearer ', ''), keys, {
      audience: endpoint,
    })
    expect(payload).toMatchObject({
      iss: 'https://accounts.google.com',
      email: SERVICE_ACCOUNT,
      email_verified: true,
    })
    expect(body.subscription).toBe(SUBSCRIPTION)
    expect(Buffer.from(body.message.data, 'base64').toString()).toMatch(
      /^\{"emailAddress":"ada@gmail.test","historyId":\d+\}$/,
    )
  }
})

test('notices only watched mailboxes, labels that the watch names, and until it ends', async () => {
  await watch({ topicName: TOPIC, labelIds: ['STARRED'] })
  await arrived(1)
  deliver('ben@gmail.test')
  const { id } = deliver()
  const token = await gmail.token('ada@gmail.test')
  await gmail.ask(token, 'POST', `messages/${id}/modify`, { addLabelIds: ['STARRED'] })
  await arrived(2)
  await gmail.ask(token, 'POST', 'stop')
  await gmail.ask(token, 'POST', `messages/${id}/modify`, { removeLabelIds: ['STARRED'] })
  await watch()
  await arrived(3)
  gmail.sandbox.world.clock.turn(8 * 24 * 3600 * 1000)
  deliver()
  await watch()
  await arrived(4)
  expect(notices).toHaveLength(4)
})

test('leaves out what comes too soon after the last notice', async () => {
  configure({ intervalMilliseconds: 60_000 })
  await watch()
  deliver()
  deliver()
  await watch({ topicName: TOPIC }, 'ben@gmail.test')
  await arrived(2)
  expect(notices).toHaveLength(2)
})

test('loses notices, doubles them, and sends them late, as it is told', async () => {
  configure({ drop: 1 })
  await watch()
  deliver()
  configure({ drop: 0, copies: 3, delayMilliseconds: 20 })
  deliver()
  await arrived(3)
  expect(new Set(notices.map(({ body }) => body.message.messageId)).size).toBe(1)
})

test('tries again until a notice is taken', async () => {
  status = 503
  await watch()
  await arrived(2)
  status = 204
  await arrived(3)
})

test.each([
  [{ topicName: 'nonsense' }, 400],
  [{ topicName: 'projects/p/topics/other' }, 404],
  [{ topicName: TOPIC, labelIds: ['Label_none'] }, 400],
  [{}, 400],
])('refuses to watch %j', async (body, expected) => {
  expect((await watch(body)).status).toBe(expected)
})

test('lets a client have one topic a mailbox', async () => {
  const other = {
    topic: 'projects/p/topics/other',
    subscription: SUBSCRIPTION,
    endpoint,
    serviceAccount: SERVICE_ACCOUNT,
  }
  configure({ subscriptions: [{ ...other, topic: TOPIC }, other] })
  expect((await watch()).status).toBe(200)
  expect((await watch({ topicName: other.topic })).status).toBe(400)
  expect((await watch()).status).toBe(200)
})
