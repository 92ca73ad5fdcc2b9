import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { useTestDoors } from '../../test/use-doors.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { Push, PushOutcome, PushReceiver } from '../kit/push-receiver.ts'
import { ECHO_CHARACTERS_MAX, PushBodies } from './pushes.ts'

const { openDoor } = useTestDoors()

/** A door with a receiver that answers what the query asks for, and the pushes that it was given. */
async function openPushed(more: Partial<PushReceiver> = {}) {
  const pushes: Push[] = []
  const receiver: PushReceiver = {
    path: '/push/played',
    bodyBytesMax: 100,
    needsAuthorization: false,
    takenStatus: 202,
    receive: async push => {
      pushes.push(push)
      const echo = push.query.get('echo')
      return echo === null ? ((push.query.get('outcome') ?? 'taken') as PushOutcome) : { echo }
    },
    ...more,
  }
  const door = await openDoor({ pushes: [receiver], linksHost: 'links.example.com' })
  const push = (query = '', options: RequestInit = {}) =>
    fetch(`${door.address}/push/played${query}`, { method: 'POST', body: '{}', ...options })
  return { door, pushes, push, [Symbol.asyncDispose]: () => door.close({ deadlineMilliseconds: 0 }) }
}

test.each([
  ['', 202],
  ['?outcome=taken', 202],
  ['?outcome=forged', 401],
  ['?outcome=unavailable', 503],
])('answers a push with the query "%s" by %s and nothing else', async (query, status) => {
  await using opened = await openPushed()
  const answer = await opened.push(query)
  expect(answer.status).toBe(status)
  expect(await answer.text()).toBe('')
})

test('answers by the status that the receiver names', async () => {
  await using opened = await openPushed({ takenStatus: 204 })
  expect((await opened.push()).status).toBe(204)
})

test('hands on the query, the headers and the body', async () => {
  await using opened = await openPushed()
  await opened.push('?a=1&a=2&b=%C3%A9', { headers: { 'X-Goog-Channel-ID': 'c1' }, body: '{"é":1}' })
  const [push] = opened.pushes
  expect(push?.query.getAll('a')).toEqual(['1', '2'])
  expect(push?.query.get('b')).toBe('é')
  expect(push?.header('x-goog-channel-id')).toBe('c1')
  expect(push?.header('authorization')).toBeNull()
  expect(push?.body).toBe('{"é":1}')
})

test('refuses a push without Authorization before it is handed on only if the receiver needs one', async () => {
  await using strict = await openPushed({ needsAuthorization: true })
  expect((await strict.push()).status).toBe(401)
  expect(strict.pushes).toEqual([])
  expect((await strict.push('', { headers: { authorization: 'Bearer x' } })).status).toBe(202)
})

test('echoes a text as plain text that no browser takes for a page', async () => {
  await using opened = await openPushed()
  const text = '<script>alert(1)</script> Validation: Testing 1+1 %'
  const answer = await opened.push(`?echo=${encodeURIComponent(text)}`, { body: '' })
  expect(answer.status).toBe(200)
  expect(await answer.text()).toBe(text)
  expect(answer.headers.get('content-type')).toBe('text/plain')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'/)
})

test.each([
  ['none', ''],
  ['too many characters', 'x'.repeat(ECHO_CHARACTERS_MAX + 1)],
  ['a line break', 'a\r\nb'],
  ['a character beyond ASCII', 'é'],
  ['a control character', 'a\u0000b'],
])('does not echo a text with %s', async (_, text) => {
  await using opened = await openPushed()
  const answer = await opened.push(`?echo=${encodeURIComponent(text)}`)
  expect(answer.status).toBe(400)
  expect(await answer.text()).toBe('')
})

test.each(['GET', 'PUT', 'DELETE'])('takes no %s', async method => {
  await using opened = await openPushed()
  const body = method === 'GET' ? {} : { body: '{}' }
  const answer = await fetch(`${opened.door.address}/push/played`, { method, ...body })
  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toBe('POST')
  expect(opened.pushes).toEqual([])
})

test('refuses a body over its limit, declared or not', async () => {
  await using opened = await openPushed()
  const large = 'x'.repeat(101)
  expect((await opened.push('', { body: large })).status).toBe(413)
  const stream = new Blob([large]).stream()
  const chunked = await opened.push('', { body: stream, duplex: 'half' } as RequestInit)
  expect(chunked.status).toBe(413)
  expect(opened.pushes).toEqual([])
})

test('logs no fault when the sender leaves within the body', async () => {
  await using opened = await openPushed()
  const sent = requestHttp(`${opened.door.address}/push/played`, {
    method: 'POST',
    headers: { 'content-length': '50' },
  })
  sent.on('error', () => {})
  sent.write('{')
  await once(sent, 'socket').then(([socket]) => once(socket, 'connect'))
  sent.destroy()
  await waitUntil('the answer', async () => opened.door.answers.includes('POST 400'))
  expect(opened.door.lines.filter(line => line.includes('A request failed'))).toEqual([])
})

test('keeps the bodies that are read at the same time within their bound', async () => {
  const bodies = new PushBodies(10)
  const slow = new Readable({ read() {} })
  const waiting = bodies.read(slow as never, 100)
  slow.push('12345678')
  await waitUntil('the bytes to be read', async () => slow.readableLength === 0)
  expect(await bodies.read(Readable.from([Buffer.from('123')]) as never, 100)).toBe(503)
  slow.push(null)
  expect(String(await waiting)).toBe('12345678')
  expect(String(await bodies.read(Readable.from([Buffer.from('1234567890')]) as never, 100))).toBe(
    '1234567890',
  )
})
