import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpsServer, type Page, startHttpsServer } from '../../../test/https-server.ts'
import { makeCertificates } from '../../../test/servers/certificate.ts'
import { sendMultistatus } from '../../../test/servers/odd-dav.ts'
import { found } from '../../../test/servers/odd-dav-collection.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { serverCheck } from '../server-check.ts'

const NAMES = ['own.test', 'dav.own.test', 'p34.own.test', 'moved.test']
const BASIC = `Basic ${btoa('ada:secret')}`

let certificates: string
let authority: string
let web: HttpsServer
/** Hosts that were sent a password. */
let trusted: string[]

beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'waxwing-dav-'))
  authority = await makeCertificates(certificates, NAMES)
  web = await startHttpsServer(certificates)
})
afterAll(async () => {
  await web[Symbol.asyncDispose]()
  await rm(certificates, { recursive: true })
})

/** A page that asks for a login, and then answers with these properties of itself. */
function page(path: string, props: string): Page {
  return (request, response) => {
    request.resume()
    const { authorization, host = '' } = request.headers
    if (authorization !== undefined) trusted.push(host.replace(/:\d+$/, ''))
    if (authorization !== BASIC) return void response.writeHead(401, { 'www-authenticate': 'Basic' }).end()
    sendMultistatus(response, found(path, props))
  }
}

const at = (host: string, path: string) => `https://${host}:${web.port}${path}`
const redirect =
  (location: string): Page =>
  (request, response) => {
    request.resume()
    response.writeHead(301, { location }).end()
  }
const homeSet = (href: string) =>
  `<addressbook-home-set xmlns="urn:ietf:params:xml:ns:carddav"><href xmlns="DAV:">${href}</href></addressbook-home-set>`

async function find(
  pages: Record<string, Page>,
  options: { password?: string; onAsked?(): Promise<void> } = {},
) {
  Object.assign(web, { pages, requests: [] })
  trusted = []
  const check = serverCheck({
    guard: egressGuard({
      allow: parseEgressAllow(NAMES.map(name => `${name}:${web.port}`)),
      resolve: async () => ['127.0.0.1'],
    }),
    authorities: trustAlso(authority),
    clientName: '[127.0.0.1]',
    allowPlaintext: true,
  })
  const server = { calendarUrl: null, contactsUrl: at('own.test', '/'), user: 'ada' }
  return check.dav(server, options.password ?? 'secret', options.onAsked)
}

describe('a password for own.test', () => {
  test('goes to other hosts of the domain, to which redirects and hrefs lead', async () => {
    let asked = 0
    const homes = await find(
      {
        'own.test/': redirect(at('dav.own.test', '/')),
        'dav.own.test/': page('/', homeSet(at('p34.own.test', '/home/'))),
        'p34.own.test/home/': page('/home/', ''),
      },
      {
        onAsked: async () => {
          asked += 1
        },
      },
    )

    expect(homes).toEqual({ calendarUrl: null, contactsUrl: at('p34.own.test', '/home/') })
    expect([...new Set(trusted)].toSorted()).toEqual(['dav.own.test', 'p34.own.test'])
    expect(asked).toBeGreaterThanOrEqual(3)
  })

  test.each([
    ['a redirect to another domain', () => ({ 'own.test/': redirect(at('moved.test', '/')) })],
    ['a home in another domain', () => ({ 'own.test/': page('/', homeSet(at('moved.test', '/home/'))) })],
    ['a redirect without TLS', () => ({ 'own.test/': redirect(`http://dav.own.test:${web.port}/`) })],
  ] as ReadonlyArray<readonly [string, () => Record<string, Page>]>)(
    'does not follow %s',
    async (_, pages) => {
      await expect(
        find({ ...pages(), 'moved.test/': page('/', ''), 'moved.test/home/': page('/home/', '') }),
      ).rejects.toMatchObject({
        kind: 'not_allowed',
        message: expect.stringMatching(/^DAV: The server leads to/),
      })
      expect(trusted.filter(host => host !== 'own.test')).toEqual([])
      expect(web.requests.filter(request => request.includes('moved.test'))).toEqual([])
    },
  )

  test('that is refused is reported with advice', async () => {
    await expect(find({ 'own.test/': page('/', '') }, { password: 'another' })).rejects.toMatchObject({
      kind: 'login_failed',
      message: expect.stringMatching(/^DAV: The server refused the login\. Check user and password/),
    })
    expect(trusted).toEqual(['own.test'])
  })

  test('is not sent to a server whose certificate is not trusted', async () => {
    const untrusting = serverCheck({
      guard: egressGuard({
        allow: parseEgressAllow([`own.test:${web.port}`]),
        resolve: async () => ['127.0.0.1'],
      }),
      clientName: '[127.0.0.1]',
      allowPlaintext: true,
    })
    const server = { calendarUrl: null, contactsUrl: at('own.test', '/'), user: 'ada' }
    trusted = []

    await expect(untrusting.dav(server, 'secret')).rejects.toThrow(
      /DAV: No secure connection to the server: .*authority/,
    )

    expect(trusted).toEqual([])
  })
})
