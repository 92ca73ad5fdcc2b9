import { describe, expect, test } from 'vitest'
import {
  configXml,
  FOUND,
  imapXml,
  ISPDB_FILE,
  NOTHING,
  OWN_FILE,
  smtpXml,
  useAutoconfig,
  WELL_KNOWN_FILE,
} from '../../../../test/autoconfig-world.ts'
import type { Page } from '../../../../test/https-server.ts'

const { newWorld, openWorld } = useAutoconfig()

describe('GET /v1/autoconfig', () => {
  test('finds the large providers without any request', async () => {
    const world = await newWorld()

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

  test('uses the first source with a result, and sends no request to a later one', async () => {
    const world = await newWorld(
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
    const world = await newWorld({}, { [OWN_FILE]: configXml(servers) })

    expect((await world.find('ada.b@own.test')).body).toEqual({
      source: 'autoconfig',
      ...FOUND,
      imap: { ...FOUND.imap, user: 'ada.b' },
      smtp: { ...FOUND.smtp, user: 'ada.b+own.test' },
    })
  })

  test('orders SRV records by kind, priority and weight, and skips services that are not offered', async () => {
    const world = await newWorld({
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
    const world = await newWorld({ 'own.test': { MX: [record, '90 backup.moved.test'] } })

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
    const world = await newWorld({}, { [OWN_FILE]: configXml() })
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
    const world = await newWorld()
    const search = async (domain: string) => {
      const startedAt = performance.now()
      expect(await world.find(`ada@${domain}`)).toMatchObject(NOTHING)
      expect(performance.now() - startedAt).toBeGreaterThan(990)
    }
    await Promise.all(['inside.test', 'nowhere.test'].map(search))
  })

  test('offers servers without TLS last, and only if the operator allows them', async () => {
    const file = configXml(imapXml({ port: '143', socketType: 'plain' }) + imapXml())
    await using world = await openWorld({}, { [OWN_FILE]: file }, { allowPlaintext: true })
    expect((await world.find('ada@own.test')).body).toMatchObject({ imap: { security: 'tls' } })
    world.web.pages[OWN_FILE] = configXml(imapXml({ port: '143', socketType: 'plain' }))
    expect((await world.find('ada@own.test')).body).toMatchObject({ imap: { security: 'none' } })

    const strict = await newWorld({}, world.web.pages)
    expect(await strict.find('ada@own.test')).toMatchObject(NOTHING)
  })

  test.each(['', 'ada', 'ada@localhost', 'ada@127.0.0.1', 'ada@own.test/../x', 'ada@own.test\r\nX: y'])(
    'refuses an invalid address: %j',
    async email => {
      const world = await newWorld()
      expect(await world.find(email)).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
      expect(world.dns.questions).toEqual([])
    },
  )
})
