import { expect, test } from 'vitest'
import { useGmail } from './use-gmail.ts'

const gmail = useGmail()

interface Part {
  id: string
  call: string
  body?: unknown
  /** Used for this part in place of the token of the batch. */
  token?: string
}

async function batch(token: string, parts: Part[]) {
  const texts = parts.map(({ id, call, body, token: own }) =>
    [
      '--outer',
      'Content-Type: application/http',
      `Content-ID: <${id}>`,
      '',
      call,
      ...(own === undefined ? [] : [`Authorization: Bearer ${own}`]),
      ...(body === undefined ? ['', ''] : ['Content-Type: application/json', '', JSON.stringify(body)]),
    ].join('\r\n'),
  )
  const body = Buffer.from(`${texts.join('\r\n')}\r\n--outer--\r\n`)
  const answer = await gmail.ask(token, 'POST', '/batch/gmail/v1', body, {
    'content-type': 'multipart/mixed; boundary=outer',
  })
  const boundary = /boundary=(\S+)/.exec(answer.headers.get('content-type') ?? '')?.[1]
  const answers = boundary
    ? (answer.data as string)
        .split(`--${boundary}`)
        .slice(1, -1)
        .map(text => ({
          id: /^Content-ID: <response-(.*)>/m.exec(text)?.[1] ?? '',
          status: Number(/^HTTP\/1\.1 (\d+)/m.exec(text)?.[1]),
          body: text.split('\r\n\r\n').slice(2).join('\r\n\r\n').trim(),
        }))
    : []
  return { status: answer.status, answers }
}

async function some(token: string, count: number): Promise<string[]> {
  const { data } = await gmail.ask(token, 'GET', `messages?maxResults=${count}`)
  return data.messages.map(({ id }: { id: string }) => id)
}

test('answers each call by its own id, in any order', async () => {
  const token = await gmail.token('ada@gmail.test')
  const ids = await some(token, 100)
  const { status, answers } = await batch(
    token,
    ids.map(id => ({ id, call: `GET /gmail/v1/users/me/messages/${id}?format=minimal` })),
  )
  expect(status).toBe(200)
  expect(answers.every(answer => answer.status === 200 && JSON.parse(answer.body).id === answer.id)).toBe(
    true,
  )
  expect(answers.map(({ id }) => id)).not.toEqual(ids)
  expect(answers.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
})

test('takes calls with bodies, and lets one fail without the others', async () => {
  const token = await gmail.token('ada@gmail.test')
  const [id] = await some(token, 1)
  const { answers } = await batch(token, [
    {
      id: 'a',
      call: `POST /gmail/v1/users/me/messages/${id}/modify HTTP/1.1`,
      body: { addLabelIds: ['STARRED'] },
    },
    { id: 'b', call: 'GET /gmail/v1/users/me/messages/none' },
    { id: 'c', call: 'GET /gmail/v1/users/me/profile', body: undefined },
  ])
  const byId = Object.fromEntries(answers.map(answer => [answer.id, answer]))
  expect([byId.a?.status, byId.b?.status, byId.c?.status]).toEqual([200, 404, 200])
  expect(JSON.parse(byId.a?.body ?? '').labelIds).toContain('STARRED')
})

test('refuses more than a hundred calls, and none', async () => {
  const token = await gmail.token('ada@gmail.test')
  const call = 'GET /gmail/v1/users/me/profile'
  const many = Array.from({ length: 101 }, (_, index) => ({ id: `${index}`, call }))
  expect((await batch(token, many)).status).toBe(400)
  expect((await batch(token, [])).status).toBe(400)
})

test('charges each call, and refuses those over the quota one by one', async () => {
  gmail.google.gmail.configure({
    quota: 'standard',
    unitsPerMinute: 105,
    quotaAnswer: 429,
    shuffledBatches: false,
  })
  const token = await gmail.token('ada@gmail.test')
  const ids = await some(token, 10)
  const { answers } = await batch(
    token,
    ids.map(id => ({ id, call: `GET /gmail/v1/users/me/messages/${id}` })),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429])
  const calls = gmail.sandbox.world.calls.list({ path: '/gmail/v1/users/me/messages/*' })
  expect(calls.reduce((sum, call) => sum + call.units, 0)).toBe(100)
  expect(gmail.sandbox.world.calls.list({ path: '/batch/gmail/v1' })).toMatchObject([{ units: 0 }])
  expect(calls.every(call => call.partOf !== null)).toBe(true)
})

test('is of the user of its token, but for parts that bring their own', async () => {
  const [ada, ben] = await Promise.all(
    ['ada@gmail.test', 'ben@gmail.test'].map(async user => gmail.token(user)),
  )
  const call = 'GET /gmail/v1/users/me/profile'
  const { answers } = await batch(ada!, [
    { id: 'a', call },
    { id: 'b', call, token: ben! },
    { id: 'c', call, token: 'ya29.none' },
  ])
  const told = answers.map(({ id, status, body }) => [id, status, JSON.parse(body).emailAddress])
  expect(told.toSorted()).toEqual([
    ['a', 200, 'ada@gmail.test'],
    ['b', 200, 'ben@gmail.test'],
    ['c', 401, undefined],
  ])
  expect((await batch('ya29.none', [{ id: 'a', call }])).status).toBe(401)
})

test('lets a fault strike single parts', async () => {
  const token = await gmail.token('ada@gmail.test')
  gmail.sandbox.world.faults.add({
    does: 'rate_limit',
    path: '/gmail/v1/users/me/profile',
    count: 1,
    retryAfterSeconds: 3,
  })
  const { answers } = await batch(
    token,
    ['a', 'b'].map(id => ({ id, call: 'GET /gmail/v1/users/me/profile' })),
  )
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 429])
})
