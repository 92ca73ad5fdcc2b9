import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { davTestClient } from '../../../test/servers/dav-client.ts'
import { type OddDav, sendMultistatus, startOddDav } from '../../../test/servers/odd-dav.ts'
import { startRadicale } from '../../../test/servers/radicale.ts'
import { startSabre } from '../../../test/servers/sabre.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { startXandikos } from '../../../test/servers/xandikos.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { findHomes } from './discovery.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const options = { guard, allowPlaintext: true }

const find = (contactsUrl: string, { user, password }: { user: string; password: string }) =>
  findHomes(options, { calendarUrl: null, contactsUrl, user }, password)

describe('the homes of a user', () => {
  const radicale = useServer(startRadicale)
  const xandikos = useServer(startXandikos)
  const sabre = useServer(startSabre)

  test.each(['', 'somewhere/else', '.well-known/carddav'])(
    'are found on Radicale from /%s, those of both halves at once',
    async path => {
      const server = radicale()
      const user = await server.addUser()
      const url = new URL(path, server.url).href

      const homes = await findHomes(
        options,
        { calendarUrl: url, contactsUrl: url, user: user.user },
        user.password,
      )

      const home = new URL(user.homePath, server.url).href
      expect(homes).toEqual({ calendarUrl: home, contactsUrl: home })
    },
  )

  test('are found from an address book', async () => {
    const server = radicale()
    const user = await server.addUser()
    const book = await davTestClient(server, user).makeBook('people')

    const { contactsUrl } = await find(new URL(book, server.url).href, user)

    expect(contactsUrl).toBe(new URL(user.homePath, server.url).href)
  })

  test('are found on sabre/dav, which has Digest only', async () => {
    const server = sabre()
    const user = await server.addUser()
    await davTestClient(server, user).makeBook('people')

    const { contactsUrl } = await find(server.url.href, user)

    expect(contactsUrl).toBe(new URL(user.homePath, server.url).href)
  })

  test('are found on Xandikos, which asks nobody for a login', async () => {
    const server = xandikos()
    const user = await server.addUser()

    expect((await find(server.url.href, user)).contactsUrl).toBe(
      new URL('/somebody/contacts/', server.url).href,
    )
    await davTestClient(server, user).makeBook('people')
    const home = new URL(user.homePath, server.url).href
    expect((await find(home, user)).contactsUrl).toMatch(/\/contacts\/$/)
  })

  test('are not found with another password', async () => {
    for (const server of [radicale(), sabre()]) {
      const user = { ...(await server.addUser()), password: 'another' }
      await expect(find(server.url.href, user)).rejects.toMatchObject({ kind: 'login_failed' })
    }
  })
})

describe('a server that was named', () => {
  let dav: OddDav
  let other: OddDav
  beforeAll(async () => {
    dav = await startOddDav()
    other = await startOddDav()
  })
  afterAll(async () => {
    await dav[Symbol.asyncDispose]()
    await other[Symbol.asyncDispose]()
  })

  const answering = (answers: OddDav['oddities']['answers']) => {
    dav.oddities = answers ? { answers } : {}
    dav.authorizations.length = 0
    dav.requests.length = 0
  }
  const homeSet = (href: string) =>
    `<response><href>/</href><propstat><prop><addressbook-home-set xmlns="urn:ietf:params:xml:ns:carddav"><href xmlns="DAV:">${href}</href></addressbook-home-set></prop><status>HTTP/1.1 200 OK</status></propstat></response>`

  test('logs in although it lets strangers look', async () => {
    answering(undefined)
    dav.oddities = { showsStrangers: true }
    expect(await find(dav.url.href, dav.login)).toEqual({ calendarUrl: null, contactsUrl: dav.home.href })
  })

  test.each([
    [
      'is no DAV server',
      'not_dav_server',
      (_: unknown, response: { end(text: string): void }) => {
        response.end('<html>Welcome</html>')
        return true
      },
    ],
    [
      'has nothing at any of the paths',
      'not_dav_server',
      (_: unknown, response: { writeHead(status: number): { end(): void } }) => {
        response.writeHead(404).end()
        return true
      },
    ],
  ] as const)('that %s is refused as %s', async (_, reason, answers) => {
    answering(answers)
    await expect(find(`${dav.url}somewhere`, dav.login)).rejects.toMatchObject({ kind: 'rejected', reason })
    expect(dav.requests.length).toBeLessThanOrEqual(3)
  })

  test('that has no home of the half is refused as dav_discovery_failed', async () => {
    answering((_, response) => {
      sendMultistatus(response, '<response><href>/</href></response>')
      return true
    })
    const asked = find(dav.url.href, dav.login)
    await expect(asked).rejects.toMatchObject({ kind: 'rejected', reason: 'dav_discovery_failed' })
  })

  test('whose books show no way to notice changes is refused as dav_unsupported', async () => {
    answering(undefined)
    dav.put('a.vcf', 'BEGIN:VCARD\r\nEND:VCARD\r\n')
    dav.oddities = { tokenStatus: null, lacksCtag: true, etags: 'none' }
    const asked = find(dav.url.href, dav.login)
    await expect(asked).rejects.toMatchObject({ kind: 'unsupported', reason: 'dav_unsupported' })
    dav.oddities = { tokenStatus: null, lacksCtag: true }
    expect((await find(dav.url.href, dav.login)).contactsUrl).toBe(dav.home.href)
  })

  test.each(['http://localhost:PORT/home/', 'https://evil.test/home/', 'http://10.0.0.1/home/'])(
    'and leads to %s gets no further, and nobody else the password',
    async href => {
      answering((_, response) => {
        sendMultistatus(response, homeSet(href.replace('PORT', other.url.port)))
        return true
      })
      other.authorizations.length = 0

      await expect(find(dav.url.href, dav.login)).rejects.toMatchObject({ kind: 'not_allowed' })

      expect(other.authorizations).toEqual([])
    },
  )

  test('is asked with the password once if it refuses it', async () => {
    answering(undefined)
    await expect(find(`${dav.url}x`, { ...dav.login, password: 'x' })).rejects.toMatchObject({
      kind: 'login_failed',
    })
    expect(dav.authorizations.filter(given => given !== '')).toHaveLength(1)
  })

  test.each([
    ['ftp://127.0.0.1/', 'not_allowed'],
    ['https://ada:x@127.0.0.1/', 'not_allowed'],
    ['no URL', 'not_allowed'],
    ['http://10.0.0.1/', 'not_allowed'],
    ['http://127.0.0.1:1/', 'unavailable'],
  ])('by %s is refused as %s', async (url, kind) => {
    await expect(find(url, dav.login)).rejects.toMatchObject({ kind })
  })

  test('without TLS needs an operator who allows it', async () => {
    answering(undefined)
    const server = { calendarUrl: null, contactsUrl: dav.url.href, user: dav.login.user }
    const asked = findHomes({ guard, allowPlaintext: false }, server, dav.login.password)
    await expect(asked).rejects.toMatchObject({ kind: 'not_allowed' })
    expect(dav.requests).toEqual([])
  })
})
