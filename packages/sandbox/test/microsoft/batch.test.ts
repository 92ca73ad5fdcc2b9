import { expect, test } from 'vitest'
import type { Parsed } from '../read-answer.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()

interface Part {
  id: string
  status: number
  body?: Parsed
}

test('answers each part of a batch, bytes as base64, each with the preferences of its own', async () => {
  const eva = graph.addUser('eva@office.test', 10)
  const [message] = (await graph.ask(eva, 'GET', 'messages?$top=1')).data.value
  const answer = await graph
    .client(eva)
    .api('/$batch')
    .post({
      requests: [
        { id: '1', method: 'GET', url: '/me/mailFolders/inbox?$select=displayName' },
        { id: '2', method: 'get', url: `me/messages/${message.id}/$value` },
        {
          id: '3',
          method: 'GET',
          url: `/me/messages/${message.id}?$select=id`,
          headers: { Prefer: 'IdType="ImmutableId"' },
        },
        { id: '4', method: 'GET', url: '/me/messages/AAkAnothing000000000000000000' },
      ],
    })
  const parts = new Map((answer.responses as Part[]).map(part => [part.id, part]))
  expect(parts.get('1')).toMatchObject({ status: 200, body: { displayName: 'Inbox' } })
  const raw = await graph.ask(eva, 'GET', `messages/${message.id}/$value`)
  expect(Buffer.from(parts.get('2')?.body, 'base64').toString()).toBe(raw.data)
  expect(parts.get('3')?.body.id).not.toBe(message.id)
  expect(parts.get('4')).toMatchObject({ status: 404, body: { error: { code: 'ErrorItemNotFound' } } })
})

test('runs a part only after those that it depends on, and not if one of them failed', async () => {
  const eva = graph.addUser('eva@office.test')
  const create = (id: string, displayName: string, dependsOn?: string[]) => ({
    id,
    method: 'POST',
    url: '/me/mailFolders',
    headers: { 'Content-Type': 'application/json' },
    body: { displayName },
    ...(dependsOn && { dependsOn }),
  })
  const { data } = await post(eva, [
    create('a', 'One'),
    create('b', 'One', ['a']),
    create('c', 'Two', ['b']),
    create('d', 'Three', ['c']),
    create('e', 'Four', ['a']),
  ])
  const status = Object.fromEntries((data.responses as Part[]).map(part => [part.id, part.status]))
  expect(status).toEqual({ a: 201, b: 409, c: 424, d: 424, e: 201 })
})

test.each([
  [
    'more than 20 parts',
    Array.from({ length: 21 }, (_, nth) => ({ id: `${nth}`, method: 'GET', url: '/me/messages' })),
  ],
  ['no part', []],
  ['two parts of one id', [1, 2].map(() => ({ id: '1', method: 'GET', url: '/me/messages' }))],
  ['an unknown dependency', [{ id: '1', method: 'GET', url: '/me/messages', dependsOn: ['2'] }]],
  ['an absolute URL', [{ id: '1', method: 'GET', url: 'https://elsewhere.test/me/messages' }]],
  ['a body without its type', [{ id: '1', method: 'POST', url: '/me/mailFolders', body: {} }]],
])('refuses a batch with %s', async (_, requests) => {
  const eva = graph.addUser('eva@office.test')
  const { status, data } = await post(eva, requests)
  expect([status, data.error.code]).toEqual([400, 'BadRequest'])
})

function post(user: Parameters<typeof graph.ask>[0], requests: object[]) {
  return graph.ask(user, 'POST', 'https://graph.microsoft.com/v1.0/$batch', { requests })
}
