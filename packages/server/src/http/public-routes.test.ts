import { request as requestHttp } from 'node:http'
import { expect, test } from 'vitest'
import { useTestDoors } from '../../test/use-doors.ts'
import type { PublicRequest, PublicRoute } from '../pages/public-route.ts'

const { openDoor } = useTestDoors()

const seen: PublicRequest[] = []

/** Page of the token `known`, which shows its input. */
const page: PublicRoute = {
  path: '/u/{token}',
  isLink: true,
  form: { bytesMax: 1024, origin: null },
  isPossible: token => token !== 'forged',
  async serve(request) {
    seen.push(request)
    if (request.token !== 'known') return null
    return { status: 200, body: `<p>${request.method} ${request.form}</p>` }
  },
}
const image: PublicRoute = {
  path: '/t/o/{id}.gif',
  isLink: true,
  form: null,
  serve: async ({ token }) =>
    token === 'known'
      ? { status: 200, headers: { 'content-type': 'image/gif' }, body: new Uint8Array([1, 2]) }
      : null,
}
const booking: PublicRoute = {
  path: '/book/{linkId}',
  isLink: false,
  form: { bytesMax: 1024, origin: () => 'https://mail.example.com' },
  async serve(request) {
    seen.push(request)
    return request.token === 'unknown' ? null : { status: 200, body: `book ${request.cookie('browser')}` }
  },
}
const publicRoutes = [page, image, booking]

/** Requests with a `Host` header, which fetch does not let one choose. */
function statusAt(address: string, path: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = requestHttp(address + path, { headers: { host } }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('a public answer has no cookie, no script and no cache, and leaks no referrer', async () => {
  await using door = await openDoor({ publicRoutes, corsOrigins: ['https://app.example.com'] })
  const answer = await fetch(`${door.address}/u/known`, { headers: { origin: 'https://app.example.com' } })
  expect(answer.status).toBe(200)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringMatching(
      /^default-src 'none';(?!.*script).*frame-ancestors 'none'/,
    ),
  })
  expect(answer.headers.get('set-cookie')).toBeNull()
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  const head = await fetch(`${door.address}/u/known`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('a route takes only its methods, and only its path', async () => {
  await using door = await openDoor({ publicRoutes })
  const status = async (method: string, path: string) =>
    (await fetch(door.address + path, { method, redirect: 'manual' })).status
  expect(await status('GET', '/t/o/known.gif')).toBe(200)
  expect(await status('GET', '/t/o/known')).toBe(404)
  expect(await status('GET', '/t/o/known.png')).toBe(404)
  expect(await status('GET', '/t/o/known.gif/more')).toBe(404)
  expect(await status('POST', '/t/o/known.gif')).toBe(405)
  expect(await status('DELETE', '/u/known')).toBe(405)
  expect(await status('OPTIONS', '/u/known')).toBe(405)
})

test('a form is read as urlencoded and as multipart, within its limit', async () => {
  await using door = await openDoor({ publicRoutes })
  const post = async (body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${door.address}/u/known`, { method: 'POST', body, headers })
    return [answer.status, await answer.text()]
  }
  const multipart = new FormData()
  multipart.set('List-Unsubscribe', 'One-Click')
  multipart.set('file', new Blob(['x']), 'x.txt')
  const read = [200, '<p>POST List-Unsubscribe=One-Click</p>']
  expect(await post(new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }))).toEqual(read)
  expect(await post(multipart)).toEqual(read)
  const nothing = [200, '<p>POST </p>']
  expect(await post('{"List-Unsubscribe":"One-Click"}', { 'content-type': 'application/json' })).toEqual(
    nothing,
  )
  expect(await post('--x', { 'content-type': 'multipart/form-data; boundary=y' })).toEqual(nothing)
  expect((await post(new URLSearchParams({ long: 'x'.repeat(2000) })))[0]).toBe(413)
})

test('refuses a form with a token that cannot be known before its body is read', async () => {
  await using door = await openDoor({ publicRoutes })
  const post = async (token: string) => {
    const body = new URLSearchParams({ long: 'x'.repeat(2000) })
    return (await fetch(`${door.address}/u/${token}`, { method: 'POST', body })).status
  }
  expect(await post('known')).toBe(413)
  expect(await post('forged')).toBe(404)
})

test('unknown links keep nobody from pages', async () => {
  await using door = await openDoor({ publicRoutes })
  door.stopClock()
  const ask = async (path: string) => (await fetch(door.address + path)).status
  for (let tried = 0; tried < 25; tried++) await ask(`/t/o/${tried}.gif`)
  expect(await ask('/t/o/other.gif')).toBe(429)
  expect(await ask('/book/one')).toBe(200)
  expect(await ask('/book/unknown')).toBe(404)
})

test('refuses a client that tries unknown tokens, and never a known one', async () => {
  await using door = await openDoor({ publicRoutes, trustProxy: ['127.0.0.1'] })
  door.stopClock()
  const from = (client: string, path: string) =>
    fetch(door.address + path, { headers: { 'x-forwarded-for': client } }).then(({ status }) => status)
  for (let tried = 0; tried < 20; tried++) expect(await from('2001:db8::1', `/u/${tried}`)).toBe(404)
  expect(await from('2001:db8::2', '/t/o/other.gif')).toBe(429)
  expect(await from('2001:db8::2', '/u/known')).toBe(200)
  expect(await from('2001:db8:0:1::1', '/u/other')).toBe(404)
  door.pass(60)
  expect(await from('2001:db8::1', '/u/other')).toBe(404)
})

test('public routes are served while load is shed', async () => {
  await using door = await openDoor({ publicRoutes })
  door.overload(['costly', 'read', 'write'])
  expect((await fetch(`${door.address}/v1/echo`)).status).toBe(503)
  expect((await fetch(`${door.address}/u/known`)).status).toBe(200)
})

test('a host that is only that of the links serves nothing else', async () => {
  await using door = await openDoor({ publicRoutes, linksHost: 'links.example.com' })
  const paths = [
    '/u/known',
    '/t/o/known.gif',
    '/book/one',
    '/v1/openapi.json',
    '/docs',
    '/',
    '/health/live',
    '/no',
  ]
  const statuses = (host: string) => Promise.all(paths.map(path => statusAt(door.address, path, host)))
  expect(await statuses('links.example.com')).toEqual([200, 200, 404, 404, 404, 404, 404, 404])
  expect(await statuses('Links.Example.com:443')).toEqual([200, 200, 404, 404, 404, 404, 404, 404])
  expect(await statuses('mail.example.com')).toEqual([200, 200, 200, 200, 200, 302, 200, 404])
})

test('a route gets the address and the program of the client', async () => {
  await using door = await openDoor({ publicRoutes })
  seen.length = 0
  await fetch(`${door.address}/u/known?name=Ada&unknown=1`, { headers: { 'user-agent': 'x'.repeat(600) } })
  expect(seen).toMatchObject([
    { method: 'GET', userAgent: 'x'.repeat(512), client: { address: '127.0.0.1' } },
  ])
  expect(seen[0]?.query.get('name')).toBe('Ada')
})

test('takes a form only from the pages of its origin, before it is read', async () => {
  await using door = await openDoor({ publicRoutes })
  const own = { origin: 'https://mail.example.com' }
  const post = async (headers: Record<string, string>) =>
    (
      await fetch(`${door.address}/book/one`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ a: '1' }),
      })
    ).status
  expect(await post(own)).toBe(200)
  expect(await post({ ...own, 'sec-fetch-site': 'same-origin' })).toBe(200)
  seen.length = 0
  expect(await post({})).toBe(403)
  expect(await post({ origin: 'null' })).toBe(403)
  expect(await post({ origin: 'https://mail.example.com.evil.example' })).toBe(403)
  expect(await post({ origin: 'http://mail.example.com' })).toBe(403)
  expect(await post({ origin: 'https://mail.example.com:8443' })).toBe(403)
  expect(await post({ ...own, 'sec-fetch-site': 'cross-site' })).toBe(403)
  expect(await post({ ...own, 'sec-fetch-site': 'same-site' })).toBe(403)
  expect(seen).toEqual([])
})

test('a page is told its cookies', async () => {
  await using door = await openDoor({ publicRoutes })
  const shown = async (cookie: string) =>
    (await fetch(`${door.address}/book/one`, { headers: { cookie } })).text()
  expect(await shown('browser=a=b; browser=c')).toBe('book a=b')
  expect(await shown('other=1;browser=x')).toBe('book x')
  expect(await shown('xbrowser=1; browser')).toBe('book null')
})

test('refuses pages to a client that asks for too many, or tries unknown tokens', async () => {
  await using door = await openDoor({ publicRoutes, trustProxy: ['127.0.0.1'] })
  door.stopClock()
  const from = async (client: string, path: string) =>
    (await fetch(door.address + path, { headers: { 'x-forwarded-for': client } })).status
  const statuses = await Promise.all(Array.from({ length: 301 }, () => from('192.0.2.1', '/book/one')))
  expect(statuses.filter(status => status === 429)).toHaveLength(1)
  expect(await from('192.0.2.1', '/u/known')).toBe(200)
  for (let tried = 0; tried < 20; tried++) await from('192.0.2.2', '/book/unknown')
  expect(await from('192.0.2.2', '/t/o/unknown.gif')).toBe(404)
  expect(await from('192.0.2.2', '/book/one')).toBe(429)
  expect(await from('192.0.2.3', '/book/one')).toBe(200)
  door.pass(60)
  expect(await from('192.0.2.1', '/book/one')).toBe(200)
})

test('refuses the document and the reference to a client that asks for too many files', async () => {
  await using door = await openDoor({ trustProxy: ['127.0.0.1'] })
  door.stopClock()
  const ask = async (path: string, client = '192.0.2.1') => {
    const headers = { 'if-none-match': '*', 'x-forwarded-for': client }
    return (await fetch(door.address + path, { headers })).status
  }
  for (let asked = 0; asked < 1000; asked += 100)
    await Promise.all(Array.from({ length: 100 }, () => ask('/v1/openapi.json')))
  expect(await ask('/docs')).toBe(429)
  expect(await ask('/docs', '192.0.2.2')).toBe(304)
  door.pass(60)
  expect(await ask('/docs')).toBe(304)
})
