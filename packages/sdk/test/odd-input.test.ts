import { expect, test } from 'vitest'
import { Waxwing } from '../src/index.ts'
import { json, openOddService, type Reply } from './odd-service.ts'

const client = (address: string) => new Waxwing({ baseUrl: `${address}/mail`, key: 'wk_x', retries: 0 })

test.each([
  ['../settings', '..%2Fsettings'],
  ['a/../b', 'a%2F..%2Fb'],
  ['%2e%2e', '%252e%252e'],
  ['a%2fb', 'a%252fb'],
  ['a?b=c#d', 'a%3Fb%3Dc%23d'],
  ['\\..\\', '%5C..%5C'],
  ['...', '...'],
])('an id such as %s stays one segment of the path', async (accountId, segment) => {
  await using odd = await openOddService(json({}))
  await client(odd.address).accounts.get({ accountId })
  expect(odd.seen.map(({ url }) => url)).toEqual([`/mail/v1/accounts/${segment}`])
})

test('half a character is refused where it would become another one', async () => {
  await using odd = await openOddService(json({ items: [], nextCursor: null }))
  const waxwing = client(odd.address)
  await expect(waxwing.accounts.list({ q: 'a\ud800' })).rejects.toThrow('q has half a character')
  expect(odd.seen).toEqual([])
  // In JSON it stays what it is, and the service refuses it.
  await waxwing.mailboxes.create({ accountId: 'a', name: '\ud800' })
  expect(odd.seen[0]?.body).toBe(String.raw`{"name":"\ud800"}`)
})

test('an answer with names of every object changes no other object', async () => {
  const body = '{"id":"a","__proto__":{"isEvil":true},"constructor":{"prototype":{"isEvil":true}}}'
  await using odd = await openOddService(response => response.end(body))
  const account = await client(odd.address).accounts.get({ accountId: 'a' })
  expect(JSON.stringify(account)).toBe(body)
  expect(({} as { isEvil?: boolean }).isEvil).toBeUndefined()
})

const HEAD = { 'content-type': 'application/json', 'content-length': '20' }
/** Each leaves the caller waiting at another moment. */
const MOMENTS: Record<string, Reply> = {
  'before the answer': () => {},
  'after its head': response => response.writeHead(200, HEAD).flushHeaders(),
  'within its body': response => void response.writeHead(200, HEAD).write('{"items"'),
  'within a refusal': response => void response.writeHead(400, HEAD).write('{"code"'),
}
test.each(Object.keys(MOMENTS))(
  'a call that is given up %s ends at once, and its connection too',
  async moment => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    await using odd = await openOddService((response, seen, request) => {
      request.socket.once('close', () => resolve())
      MOMENTS[moment]?.(response, seen, request)
      reach()
    })
    const leaving = new AbortController()
    const call = client(odd.address).accounts.list({}, { signal: leaving.signal })
    const failed = expect(call).rejects.toThrow('left')
    await reached
    leaving.abort(new Error('left'))
    await failed
    await closed
  },
)
