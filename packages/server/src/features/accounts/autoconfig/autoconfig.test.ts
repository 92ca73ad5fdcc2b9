import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DnsServer, type Zone, startDnsServer } from '../../../../test/dns-server.ts'
import { type HttpsServer, type Page, startHttpsServer } from '../../../../test/https-server.ts'
import { type TestAppOptions, openTestApp } from '../../../../test/open-app.ts'
import { makeCertificates } from '../../../../test/servers/certificate.ts'
import { waitUntil } from '../../../../test/wait-until.ts'

const WEB_NAMES = ['own.test', 'autoconfig.own.test', 'ispdb.test', 'dav.own.test', 'moved.test']
/** Served like the others, but no search may be led there. */
const PRIVATE_NAMES = ['inside.test', 'autoconfig.inside.test']
const PUBLIC_ADDRESS = '93.184.215.14'

let certificates: string
let authority: string

beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'waxwing-autoconfig-'))
  authority = await makeCertificates(certificates, [...WEB_NAMES, ...PRIVATE_NAMES])
})
afterAll(() => rm(certificates, { recursive: true }))

/** Opens the API with a name server of its own, and a web server that has every name of `WEB_NAMES`. */
async function openWorld(zone: Zone = {}, pages: Record<string, Page> = {}, options: TestAppOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const web: HttpsServer = opened.use(await startHttpsServer(certificates))
  web.pages = pages
  const here = { A: ['127.0.0.1'] }
  const names = [...WEB_NAMES, ...PRIVATE_NAMES].map(name => [name, here] as const)
  const merged = { ...Object.fromEntries(names), ...zone }
  for (const [name, records] of Object.entries(zone)) merged[name] = { ...here, ...records }
  const dns: DnsServer = opened.use(
    await startDnsServer({
      ...merged,
      'imap.own.test': { A: [PUBLIC_ADDRESS] },
      'smtp.own.test': { A: [PUBLIC_ADDRESS] },
    }),
  )
  const { autoconfig, ...rest } = options
  const app = opened.use(
    await openTestApp({
      resolve: name => dns.resolver.resolve4(name),
      certificateAuthority: authority,
      egressAllow: WEB_NAMES.map(name => `${name}:${web.port}`),
      autoconfig: {
        records: dns.resolver,
        ispdbUrl: `https://ispdb.test:${web.port}/v1.1/`,
        httpsPort: web.port,
        ...autoconfig,
      },
      ...rest,
    }),
  )
  const owned = opened.move()
  return {
    app,
    web,
    dns,
    find: (email: string) => app.get(`/v1/autoconfig?email=${encodeURIComponent(email)}`),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function serverXml(direction: 'incoming' | 'outgoing', type: string, change: Record<string, string> = {}) {
  const isImap = type === 'imap'
  const fields = {
    hostname: `${type}.%EMAILDOMAIN%`,
    port: isImap ? '993' : '587',
    socketType: isImap ? 'SSL' : 'STARTTLS',
    username: '%EMAILADDRESS%',
    authentication: 'password-cleartext',
    ...change,
  }
  const inner = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`)
  return `<${direction}Server type="${type}">${inner.join('')}</${direction}Server>`
}

const imapXml = (change?: Record<string, string>) => serverXml('incoming', 'imap', change)
const smtpXml = (change?: Record<string, string>) => serverXml('outgoing', 'smtp', change)

function configXml(servers = imapXml() + smtpXml()): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<clientConfig version="1.1"><emailProvider id="own.test"><domain>own.test</domain>
${serverXml('incoming', 'pop3', { port: '995' })}${servers}</emailProvider></clientConfig>`
}

const OWN_FILE = 'autoconfig.own.test/mail/config-v1.1.xml'
const WELL_KNOWN_FILE = 'own.test/.well-known/autoconfig/mail/config-v1.1.xml'
const ISPDB_FILE = 'ispdb.test/v1.1/own.test'
const NOTHING = { status: 422, body: { code: 'autodiscovery_failed' } }

const FOUND = {
  imap: { host: 'imap.own.test', port: 993, security: 'tls', user: 'ada@own.test' },
  smtp: { host: 'smtp.own.test', port: 587, security: 'starttls', user: 'ada@own.test' },
  oauth: null,
  dav: null,
}

describe('GET /v1/autoconfig', () => {
  test('knows the large providers without asking', async () => {
    await using world = await openWorld()

    expect((await world.find('Ada@GMail.com')).body).toEqual({
      source: 'provider',
      imap: { host: 'imap.gmail.com', port: 993, security: 'tls', user: 'Ada@GMail.com' },
      smtp: { host: 'smtp.gmail.com', port: 465, security: 'tls', user: 'Ada@GMail.com' },
      oauth: 'google',
      dav: null,
    })
    expect((await world.find('ada@hotmail.co.uk')).body).toMatchObject({ oauth: 'microsoft' })
    expect((await world.find('ada@icloud.com')).body).toMatchObject({
      imap: { user: 'ada' },
      smtp: { user: 'ada@icloud.com' },
      dav: { source: 'provider', calendarUrl: 'https://caldav.icloud.com/' },
    })
    expect(world.dns.questions).toEqual([])
    expect(world.web.connections).toBe(0)
  })

  test('uses the first source with a result, and asks no later one', async () => {
    await using world = await openWorld(
      {
        '_imaps._tcp.own.test': { SRV: ['0 1 993 imap.own.test'] },
        'own.test': { MX: ['10 mx1.moved.test'] },
      },
      {
        [OWN_FILE]: configXml(),
        [WELL_KNOWN_FILE]: configXml(imapXml({ port: '143', socketType: 'STARTTLS' })),
        [ISPDB_FILE]: configXml(),
        'ispdb.test/v1.1/moved.test': configXml(),
      },
    )
    const sources: string[] = []
    const ask = async () => sources.push(String((await world.find('ada@own.test')).body['source']))

    await ask()
    expect(world.web.requests).toContain(`GET ${OWN_FILE}?emailaddress=ada%40own.test`)
    expect(world.web.requests.join()).not.toContain('ispdb.test')
    delete world.web.pages[OWN_FILE]
    expect((await world.find('ada@own.test')).body).toMatchObject({
      source: 'autoconfig',
      imap: { port: 143, security: 'starttls' },
      smtp: null,
    })
    delete world.web.pages[WELL_KNOWN_FILE]
    await ask()
    // Only the domain itself gets the whole address.
    expect(world.web.requests.filter(line => line.includes('ispdb.test')).join()).not.toContain('ada')
    delete world.web.pages[ISPDB_FILE]
    await ask()
    delete world.dns.zone['_imaps._tcp.own.test']
    await ask()
    delete world.web.pages['ispdb.test/v1.1/moved.test']

    expect(sources).toEqual(['autoconfig', 'ispdb', 'srv', 'mx'])
    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
  })

  test('fills the placeholders of a file', async () => {
    const servers =
      imapXml({ username: '%EMAILLOCALPART%' }) + smtpXml({ username: '%EMAILLOCALPART%+%EMAILDOMAIN%' })
    await using world = await openWorld({}, { [OWN_FILE]: configXml(servers) })

    expect((await world.find('ada.b@own.test')).body).toEqual({
      source: 'autoconfig',
      ...FOUND,
      imap: { ...FOUND.imap, user: 'ada.b' },
      smtp: { ...FOUND.smtp, user: 'ada.b+own.test' },
    })
  })

  test('orders SRV records by kind, priority and weight, and skips services that are not offered', async () => {
    await using world = await openWorld({
      '_imaps._tcp.own.test': { SRV: ['0 0 0 .'] },
      '_imap._tcp.own.test': {
        SRV: ['20 9 143 smtp.own.test', '10 1 143 dav.own.test', '10 5 143 imap.own.test'],
      },
      '_submissions._tcp.own.test': { SRV: ['0 1 465 smtp.own.test'] },
      '_submission._tcp.own.test': { SRV: ['0 1 587 imap.own.test'] },
    })

    expect((await world.find('ada@own.test')).body).toEqual({
      source: 'srv',
      ...FOUND,
      imap: { ...FOUND.imap, port: 143, security: 'starttls' },
      smtp: { ...FOUND.smtp, port: 465, security: 'tls' },
    })
  })

  test.each([
    ['10 aspmx.l.google.com', 'imap.gmail.com', 'google'],
    ['0 own-test.mail.protection.outlook.com', 'outlook.office365.com', 'microsoft'],
    ['0 in1-smtp.messagingengine.com', 'imap.fastmail.com', null],
    ['10 mx01.mail.icloud.com', 'imap.mail.me.com', null],
  ])('recognises the provider by the MX record of a domain: %s', async (record, host, oauth) => {
    await using world = await openWorld({ 'own.test': { MX: [record, '90 backup.moved.test'] } })

    expect((await world.find('ada@own.test')).body).toMatchObject({
      source: 'mx',
      imap: { host, user: 'ada@own.test' },
      oauth,
    })
  })

  test('finds calendars and contacts by SRV and TXT records, and behind well-known addresses', async () => {
    const wantLogin: Page = (request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="dav"' }).end()
    }
    await using world = await openWorld({}, { [OWN_FILE]: configXml() })
    const { pages, port } = world.web
    const leadTo =
      (location: string): Page =>
      (_, response) =>
        void response.writeHead(301, { location }).end()
    pages['own.test/.well-known/caldav'] = leadTo('/remote/dav')
    pages['own.test/remote/dav'] = leadTo(`https://dav.own.test:${port}/home/`)
    pages['dav.own.test/home/'] = wantLogin
    pages['own.test/.well-known/carddav'] = '<html>A shop</html>'

    expect((await world.find('ada@own.test')).body['dav']).toEqual({
      source: 'well_known',
      calendarUrl: `https://dav.own.test:${port}/home/`,
      contactsUrl: null,
    })
    expect(world.web.requests).toContain('PROPFIND dav.own.test/home/')

    world.dns.zone['_carddavs._tcp.own.test'] = {
      SRV: [`0 1 ${port} dav.own.test`],
      TXT: ['path=/contacts'],
    }
    world.dns.zone['_caldavs._tcp.own.test'] = { SRV: ['0 1 443 inside.test'] }
    expect((await world.find('ada@own.test')).body['dav']).toEqual({
      source: 'srv',
      calendarUrl: `https://dav.own.test:${port}/home/`,
      contactsUrl: `https://dav.own.test:${port}/contacts`,
    })
  })

  test('answers alike, and after the same time, for a private domain and one that does not exist', async () => {
    await using world = await openWorld()
    for (const domain of ['inside.test', 'nowhere.test']) {
      const startedAt = performance.now()
      expect(await world.find(`ada@${domain}`)).toMatchObject(NOTHING)
      expect(performance.now() - startedAt).toBeGreaterThan(990)
    }
  })

  test('offers servers without TLS last, and only if the operator allows them', async () => {
    const file = configXml(imapXml({ port: '143', socketType: 'plain' }) + imapXml())
    await using world = await openWorld({}, { [OWN_FILE]: file }, { allowPlaintext: true })
    expect((await world.find('ada@own.test')).body).toMatchObject({ imap: { security: 'tls' } })
    world.web.pages[OWN_FILE] = configXml(imapXml({ port: '143', socketType: 'plain' }))
    expect((await world.find('ada@own.test')).body).toMatchObject({ imap: { security: 'none' } })

    await using strict = await openWorld({}, world.web.pages)
    expect(await strict.find('ada@own.test')).toMatchObject(NOTHING)
  })

  test.each(['', 'ada', 'ada@localhost', 'ada@127.0.0.1', 'ada@own.test/../x', 'ada@own.test\r\nX: y'])(
    'refuses an invalid address: %j',
    async email => {
      await using world = await openWorld()
      expect(await world.find(email)).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
      expect(world.dns.questions).toEqual([])
    },
  )
})

const BILLION_LAUGHS = `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "imap.own.test">
${[...'bcdefghij'].map((name, at) => `<!ENTITY ${name} "${`&${'abcdefghij'[at]};`.repeat(10)}">`).join('\n')}]>`

const redirect =
  (location: string): Page =>
  (_, response) =>
    void response.writeHead(302, { location }).end()

describe('hostile answers to GET /v1/autoconfig', () => {
  test.each<[string, (port: number) => Page]>([
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
  ])('%s: finds nothing, and connects to no other host', async (_, makePage) => {
    await using world = await openWorld()
    await using inside = await startHttpsServer(certificates)
    for (const name of PRIVATE_NAMES) inside.pages[`${name}/mail/config-v1.1.xml`] = configXml()
    const { web } = world
    web.pages['moved.test/config'] = configXml()
    web.pages[OWN_FILE] = makePage(inside.port)

    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
    expect(inside.connections).toBe(0)
    expect(web.requests).toContain(`GET ${OWN_FILE}?emailaddress=ada%40own.test`)
    expect(web.requests.join()).not.toContain('GET inside.test')
    expect(web.requests.filter(line => line.includes(OWN_FILE)).length).toBeLessThanOrEqual(4)
    expect(world.app.logLines.join('')).not.toContain('internal_error')
  })

  test.each(['ada@xn--zz.com', `ada@${'a'.repeat(64)}.com`, `ada@${'a.'.repeat(126)}com`])(
    'finds nothing for an impossible domain: %s',
    async email => {
      await using world = await openWorld()
      expect(await world.find(email)).toMatchObject(NOTHING)
    },
  )

  test('follows at most three redirects', async () => {
    await using world = await openWorld()
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
    await using world = await openWorld({}, { [OWN_FILE]: configXml(servers) })
    expect((await world.find('ada@own.test')).body).toEqual({ source: 'autoconfig', ...FOUND })
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
    const autoconfig = { searchSeconds: 1 }
    await using world = await openWorld({}, pages, { autoconfig })
    expect(await world.find('ada@own.test')).toMatchObject(NOTHING)
    // No page ends by itself, so a search without a limit would never return.
    expect(world.web.requests).not.toEqual([])
    await waitUntil('the end of every request', () => Promise.resolve(open === 0))
  })
})
