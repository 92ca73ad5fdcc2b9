import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { Caller } from './caller.ts'
import { type DnsServer, type Zone, startDnsServer } from './dns-server.ts'
import { type HttpsServer, type Page, startHttpsServer } from './https-server.ts'
import { type TestAppOptions, openTestApp } from './open-app.ts'
import { makeCertificates } from './servers/certificate.ts'
import { waitUntil } from './wait-until.ts'

export const WEB_NAMES = ['own.test', 'autoconfig.own.test', 'ispdb.test', 'dav.own.test', 'moved.test']
/** Served like the others, but no search may be led there. */
export const PRIVATE_NAMES = ['inside.test', 'autoconfig.inside.test']
export const PUBLIC_ADDRESS = '93.184.215.14'

type World = Awaited<ReturnType<typeof openWorld>>

/** Makes the certificates of the names and of more, once for the tests of a file. */
export function useAutoconfig(more: readonly string[] = []) {
  const webNames = [...WEB_NAMES, ...more]
  const opened = new AsyncDisposableStack()
  let certificates = ''
  let authority = ''
  let shared: World
  beforeAll(async () => {
    certificates = await mkdtemp(join(tmpdir(), 'waxwing-autoconfig-'))
    opened.defer(() => rm(certificates, { recursive: true }))
    authority = await makeCertificates(certificates, [...webNames, ...PRIVATE_NAMES])
    shared = opened.use(await open())
  })
  afterAll(() => opened.disposeAsync())
  const open = (zone?: Zone, pages?: Record<string, Page>, options?: TestAppOptions) =>
    openWorld({ certificates, authority, webNames }, zone, pages, options)
  return {
    /** The folder with the files of `makeCertificates`. */
    get certificates() {
      return certificates
    },
    openWorld: open,
    /** The world of the file with these records and pages, no requests yet, and a tenant of its own. */
    async newWorld(zone: Zone = {}, pages: Record<string, Page> = {}) {
      const { app, web, dns } = shared
      const tenant = await app.createTenant()
      await waitUntil('the end of what earlier tests asked', async () => web.open === 0)
      Object.assign(web, { pages, requests: [], connections: 0 })
      dns.zone = zoneOf(webNames, zone)
      dns.questions.length = 0
      return { app: tenant, web, dns, find: findBy(tenant) }
    },
  }
}

/** Opens the API with a name server of its own, and a web server that has every name of `WEB_NAMES`. */
async function openWorld(
  ground: { certificates: string; authority: string; webNames: readonly string[] },
  zone: Zone = {},
  pages: Record<string, Page> = {},
  options: TestAppOptions = {},
) {
  const { certificates, authority, webNames } = ground
  await using opened = new AsyncDisposableStack()
  const web: HttpsServer = opened.use(await startHttpsServer(certificates))
  web.pages = pages
  const dns: DnsServer = opened.use(await startDnsServer(zoneOf(webNames, zone)))
  const { autoconfig, ...rest } = options
  const app = opened.use(
    await openTestApp({
      resolve: name => dns.resolver.resolve4(name),
      certificateAuthority: authority,
      egressAllow: webNames.map(name => `${name}:${web.port}`),
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
    find: findBy(app),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const findBy = (caller: Caller) => (email: string) =>
  caller.get(`/v1/autoconfig?email=${encodeURIComponent(email)}`)

/** The records of a test: every name is here, but for the mail servers, which have a public address. */
function zoneOf(webNames: readonly string[], zone: Zone): Zone {
  const here = { A: ['127.0.0.1'] }
  const names = [...webNames, ...PRIVATE_NAMES, ...Object.keys(zone)]
  const merged = Object.fromEntries(names.map(name => [name, { ...here, ...zone[name] }]))
  const there = { A: [PUBLIC_ADDRESS] }
  return { ...merged, 'imap.own.test': there, 'smtp.own.test': there }
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

export const imapXml = (change?: Record<string, string>) => serverXml('incoming', 'imap', change)
export const smtpXml = (change?: Record<string, string>) => serverXml('outgoing', 'smtp', change)

export function configXml(servers = imapXml() + smtpXml()): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<clientConfig version="1.1"><emailProvider id="own.test"><domain>own.test</domain>
${serverXml('incoming', 'pop3', { port: '995' })}${servers}</emailProvider></clientConfig>`
}

export const OWN_FILE = 'autoconfig.own.test/mail/config-v1.1.xml'
export const WELL_KNOWN_FILE = 'own.test/.well-known/autoconfig/mail/config-v1.1.xml'
export const ISPDB_FILE = 'ispdb.test/v1.1/own.test'
export const NOTHING = { status: 422, body: { code: 'autodiscovery_failed' } }

export const FOUND = {
  imap: { host: 'imap.own.test', port: 993, security: 'tls', user: 'ada@own.test' },
  smtp: { host: 'smtp.own.test', port: 587, security: 'starttls', user: 'ada@own.test' },
  oauth: null,
  dav: null,
}
