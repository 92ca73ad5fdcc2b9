import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  configXml,
  FOUND,
  imapXml,
  ISPDB_FILE,
  NOTHING,
  OWN_FILE,
  PRIVATE_NAMES,
  PUBLIC_ADDRESS,
  smtpXml,
  useAutoconfig,
  WEB_NAMES,
  WELL_KNOWN_FILE,
} from '../../../../test/autoconfig-world.ts'
import type { Answer } from '../../../../test/caller.ts'
import { type HttpsServer, type Page, startHttpsServer } from '../../../../test/https-server.ts'
import { makeCertificates } from '../../../../test/servers/certificate.ts'
import { waitUntil } from '../../../../test/wait-until.ts'

const BILLION_LAUGHS = `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "imap.own.test">
${[...'bcdefghij'].map((name, at) => `<!ENTITY ${name} "${`&${'abcdefghij'[at]};`.repeat(10)}">`).join('\n')}]>`

const redirect =
  (location: string): Page =>
  (_, response) =>
    void response.writeHead(302, { location }).end()

/** Files that a server may answer with, given the port of a private server. */
const HOSTILE: readonly (readonly [string, (port: number) => Page])[] = [
  [
    'a file that is read through an entity',
    () =>
      `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>${configXml(imapXml({ hostname: '&x;' }))}`,
  ],
  ['any document type', () => configXml().replace('<clientConfig', '<!DOCTYPE clientConfig><clientConfig')],
  ['entities that grow', () => BILLION_LAUGHS + configXml(imapXml({ hostname: '&j;' }))],
  ['an entity in a host', () => configXml(imapXml({ hostname: 'imap&#46;own.test' }))],
  ['tags within tags', () => '<a>'.repeat(20_000)],
  ['tags within tags beside a server', () => configXml(imapXml() + '<a>'.repeat(40) + '</a>'.repeat(40))],
  ['more than 256 KB', () => `${configXml()}<!--${'x'.repeat(257 * 1024)}-->`],
  ['text that is not XML', () => '<html><body>Not found'],
  ['nothing', () => ''],
  ['an error page', () => (_, response) => void response.writeHead(500).end(configXml())],
  ['a redirect to a private host', port => redirect(`https://inside.test:${port}/mail/config-v1.1.xml`)],
  ['a redirect to an address', port => redirect(`https://127.0.0.1:${port}/`)],
  ['a redirect to another port', () => redirect('https://own.test:22/')],
  ['a redirect to HTTP', port => redirect(`http://moved.test:${port}/config`)],
  ['a redirect to a file', () => redirect('file:///etc/passwd')],
  ['a redirect with a password', port => redirect(`https://a:b@moved.test:${port}/config`)],
  ['a redirect in circles', () => redirect('/mail/config-v1.1.xml')],
  ['a private server', () => configXml(imapXml({ hostname: 'inside.test' }))],
  ['a private address', () => configXml(imapXml({ hostname: '169.254.169.254' }))],
  ['an address in octal', () => configXml(imapXml({ hostname: '0177.0.0.1' }))],
  ['this machine', () => configXml(imapXml({ hostname: 'localhost' }))],
  ['a server that is not there', () => configXml(imapXml({ hostname: 'gone.own.test' }))],
  ['a port of another service', () => configXml(imapXml({ port: '22' }))],
  ['port 0', () => configXml(imapXml({ port: '0' }))],
  ['a port beyond ports', () => configXml(imapXml({ port: '66529' }))],
  ['a port in words', () => configXml(imapXml({ port: '993 ' + '9'.repeat(5) }))],
  ['no TLS', () => configXml(imapXml({ socketType: 'plain' }))],
  ['a made-up kind of TLS', () => configXml(imapXml({ socketType: 'rot13' }))],
  ['a user with a line break', () => configXml(imapXml({ username: 'a\r\nA1 LOGOUT' }))],
  ['an unknown placeholder', () => configXml(imapXml({ username: '%REALNAME%' }))],
  ['an unsupported login method', () => configXml(imapXml({ authentication: 'GSSAPI' }))],
  ['only POP3', () => configXml(smtpXml())],
  ['two hosts', () => configXml(imapXml({ hostname: 'imap.own.test</hostname><hostname>b.test' }))],
  ['markup in the user', () => configXml(imapXml({ username: '<b>ada</b>' }))],
  [
    'the names of prototypes',
    () => configXml(imapXml({ constructor: 'x', __proto: 'y', hostname: '__proto__' })),
  ],
]
const AT_ONCE = 8
const IMPOSSIBLE = ['xn--zz.com', `${'a'.repeat(64)}.com`, `${'a.'.repeat(126)}com`]

/** The domain whose own server gives the answer at this index of `HOSTILE`. */
const domainOf = (at: number) => `own${at}.test`
const fileOf = (at: number) => `autoconfig.${domainOf(at)}/mail/config-v1.1.xml`
/** Has the same places as the others, and a file without anything hostile. */
const HARMLESS = 'harmless.test'
const domains = [HARMLESS, ...HOSTILE.map((_, at) => domainOf(at))]
const autoconfig = useAutoconfig(domains.flatMap(domain => [domain, `autoconfig.${domain}`]))
const { newWorld, openWorld } = autoconfig

describe('hostile answers to GET /v1/autoconfig', () => {
  let shared: Awaited<ReturnType<typeof openWorld>>
  let inside: HttpsServer
  let answers: ReadonlyMap<string, Answer<Record<string, unknown>>>
  /** Searches for several at once: each search that finds nothing takes a second. */
  beforeAll(async () => {
    const mailServers = domains.flatMap(domain => [`imap.${domain}`, `smtp.${domain}`])
    const zone = Object.fromEntries(mailServers.map(name => [name, { A: [PUBLIC_ADDRESS] }]))
    // Patient, so that a busy machine is not taken for a server without an answer.
    shared = await openWorld(zone, {}, { autoconfig: { searchSeconds: 100 } })
    inside = await startHttpsServer(autoconfig.certificates)
    for (const name of PRIVATE_NAMES) inside.pages[`${name}/mail/config-v1.1.xml`] = configXml()
    const { app, web } = shared
    web.pages['moved.test/config'] = configXml()
    web.pages[`autoconfig.${HARMLESS}/mail/config-v1.1.xml`] = configXml()
    for (const [at, [, makePage]] of HOSTILE.entries()) web.pages[fileOf(at)] = makePage(inside.port)
    const find = async (domain: string) => {
      const path = `/v1/autoconfig?email=${encodeURIComponent(`ada@${domain}`)}`
      return [domain, await (await app.createTenant()).get(path)] as const
    }
    const all = [...domains, ...IMPOSSIBLE]
    const found = []
    for (let at = 0; at < all.length; at += AT_ONCE)
      found.push(...(await Promise.all(all.slice(at, at + AT_ONCE).map(find))))
    answers = new Map(found)
  })
  afterAll(async () => {
    await inside[Symbol.asyncDispose]()
    await shared[Symbol.asyncDispose]()
  })

  test.each(HOSTILE.map(([name], at) => [name, at] as const))(
    '%s: finds nothing, and connects to no other host',
    (_, at) => {
      const { web, app } = shared
      expect(answers.get(domainOf(at))).toMatchObject(NOTHING)
      expect(inside.connections).toBe(0)
      expect(web.requests).toContain(`GET ${fileOf(at)}?emailaddress=ada%40${domainOf(at)}`)
      expect(web.requests.join()).not.toContain('GET inside.test')
      expect(web.requests.filter(line => line.includes(fileOf(at))).length).toBeLessThanOrEqual(4)
      expect(app.logLines.join('')).not.toContain('internal_error')
    },
  )

  test('finds the servers of a domain whose file has nothing hostile', () => {
    const imap = { host: `imap.${HARMLESS}`, port: 993 }
    expect(answers.get(HARMLESS)).toMatchObject({ status: 200, body: { imap } })
  })

  test.each(IMPOSSIBLE)('finds nothing for an impossible domain: ada@%s', domain => {
    expect(answers.get(domain)).toMatchObject(NOTHING)
  })

  test('follows at most three redirects', async () => {
    const world = await newWorld()
    const { pages, port } = world.web
    pages[OWN_FILE] = redirect('/1')
    pages['autoconfig.own.test/1'] = redirect('2')
    pages['autoconfig.own.test/2'] = redirect(`https://moved.test:${port}/config`)
    pages['moved.test/config'] = configXml()
    expect((await world.find('ada@own.test')).status).toBe(200)

    pages['moved.test/config'] = redirect('/again')
    pages['moved.test/again'] = configXml()
    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
  })

  test('leaves out a server that may not be connected to, and keeps the others', async () => {
    const servers =
      imapXml({ hostname: 'inside.test' }) + imapXml() + smtpXml({ hostname: '10.0.0.1' }) + smtpXml()
    const world = await newWorld({}, { [OWN_FILE]: configXml(servers) })
    expect((await world.find('ada@own.test')).body).toEqual({ source: 'autoconfig', ...FOUND })
  })

  test('survives an address where a name of a server for calendars should be', async () => {
    const zone = { '_caldavs._tcp.own.test': { SRV: ['0 1 443 2606:4700:4700::1111'] } }
    const world = await newWorld(zone)
    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
    world.web.pages[OWN_FILE] = configXml()
    expect((await world.find('ada@own.test')).body).toMatchObject({ source: 'autoconfig', dav: null })
  })

  test('trusts no certificate for another name', async () => {
    const pages = { [OWN_FILE]: configXml() }
    const strangers = await mkdtemp(join(tmpdir(), 'waxwing-strangers-'))
    const stranger = await makeCertificates(strangers, ['own.test'])
    await rm(strangers, { recursive: true })
    await using world = await openWorld({}, pages, { certificateAuthority: stranger })
    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
    expect(world.web.requests).toEqual([])
  })

  test.each<[string, Page]>([
    ['never answer', () => {}],
    [
      'send one byte at a time',
      (_, response) => {
        const timer = setInterval(() => response.write('<'), 20)
        response.once('close', () => clearInterval(timer))
      },
    ],
  ])('aborts its requests if servers %s', async (_, page) => {
    let open = 0
    const counted: Page = (request, response) => {
      open += 1
      response.once('close', () => (open -= 1))
      if (typeof page === 'function') page(request, response)
    }
    const pages = Object.fromEntries(
      [OWN_FILE, WELL_KNOWN_FILE, ISPDB_FILE, 'own.test/.well-known/caldav'].map(name => [name, counted]),
    )
    const brief = { searchSeconds: 1 }
    await using world = await openWorld({}, pages, { autoconfig: brief })
    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
    // No page ends by itself, so a search without a limit would never return.
    expect(world.web.requests).not.toEqual([])
    await waitUntil('the end of every request', () => Promise.resolve(open === 0))
  })

  test('gives up hosts that accept connections and stay silent, and the page asks for the servers', async () => {
    const sockets = new Set<Socket>()
    const silent = createServer(socket => void sockets.add(socket.on('error', () => {}).resume()))
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    const { port } = silent.address() as AddressInfo
    const ispdbUrl = `https://ispdb.test:${port}/v1.1/`
    await using world = await openWorld(
      {},
      {},
      {
        egressAllow: WEB_NAMES.map(name => `${name}:${port}`),
        autoconfig: { searchSeconds: 1, httpsPort: port, ispdbUrl },
      },
    )
    const { body } = await world.app.post<{ url: string }>('/v1/connect-sessions', {})
    const form = new URLSearchParams({ do: 'find', email: 'ada@own.test' })
    const headers = { origin: world.app.address }
    const page = await fetch(body.url, { method: 'POST', body: form, headers })
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('The servers of this address were not found. Enter them below.')
    expect(sockets.size).toBeGreaterThan(0)
    await waitUntil('the end of every connection', async () => [...sockets].every(({ closed }) => closed))
    silent.close()
  })
})
