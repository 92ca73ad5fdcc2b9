import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { type DnsServer, type Zone, startDnsServer } from './dns-server.ts'
import { type HttpsServer, type Page, startHttpsServer } from './https-server.ts'
import { type TestAppOptions, openTestApp } from './open-app.ts'
import { makeCertificates } from './servers/certificate.ts'

export const WEB_NAMES = ['own.test', 'autoconfig.own.test', 'ispdb.test', 'dav.own.test', 'moved.test']
/** Served like the others, but no search may be led there. */
export const PRIVATE_NAMES = ['inside.test', 'autoconfig.inside.test']
const PUBLIC_ADDRESS = '93.184.215.14'

/** Makes the certificates of the names, once for the tests of a file. */
export function useAutoconfig() {
  let certificates = ''
  let authority = ''
  beforeAll(async () => {
    certificates = await mkdtemp(join(tmpdir(), 'waxwing-autoconfig-'))
    authority = await makeCertificates(certificates, [...WEB_NAMES, ...PRIVATE_NAMES])
  })
  afterAll(() => rm(certificates, { recursive: true }))
  return {
    /** The folder with the files of `makeCertificates`. */
    get certificates() {
      return certificates
    },
    openWorld: (zone?: Zone, pages?: Record<string, Page>, options?: TestAppOptions) =>
      openWorld({ certificates, authority }, zone, pages, options),
  }
}

/** Opens the API with a name server of its own, and a web server that has every name of `WEB_NAMES`. */
async function openWorld(
  { certificates, authority }: { certificates: string; authority: string },
  zone: Zone = {},
  pages: Record<string, Page> = {},
  options: TestAppOptions = {},
) {
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
