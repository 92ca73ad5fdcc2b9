import { expect, test } from 'vitest'
import { silentLog } from '../../../kit/log.ts'
import { Secret } from '../../../kit/secret.ts'
import type { FoundServers } from '../../../providers/discovery.ts'
import type { DavHomes } from '../../../providers/dav-server.ts'
import { type FailureKind, type FailureReason, ProviderFailure } from '../../../providers/failure.ts'
import { knownDomains, planDav } from './dav-plan.ts'
import { requireDav } from './dav-servers.ts'

const IMAP = { host: 'imap.example.org', port: 993, security: 'tls', user: 'ada' } as const
const AT_IMAP = 'https://imap.example.org/'
type Answer = string | [kind: FailureKind, reason?: FailureReason]

/** Servers that answer with the home of a URL, or fail, and what they were asked. */
function world(answers: Record<string, Answer>, found: FoundServers['dav'] = null) {
  const asked: Array<{ url: string; user: string; password: string }> = []
  const answer = (url: string | null, user: string, password: string) => {
    if (url === null) return null
    asked.push({ url, user, password })
    const given = answers[url] ?? (['unavailable'] as const)
    if (typeof given === 'string') return given
    const [kind, reason] = given
    throw new ProviderFailure(kind, 'No.', { ...(reason && { reason }) })
  }
  const servers = {
    imap: () => Promise.resolve(),
    smtp: () => Promise.resolve(),
    dav: async ({ calendarUrl, contactsUrl, user }: DavHomes & { user: string }, password: string) => ({
      calendarUrl: answer(calendarUrl, user, password),
      contactsUrl: answer(contactsUrl, user, password),
    }),
  }
  const search = { source: 'srv', imap: IMAP, smtp: null, oauth: null, dav: found } as const
  return { asked, signIn: { servers, serverSearch: { find: () => Promise.resolve(search) } } }
}

const request = { requestId: 'one', log: silentLog }
const plan = (input: Parameters<typeof planDav>[0]) =>
  planDav(input, { current: null, isOauth: false, allowPlaintext: false })
const at = { email: 'ada@example.org', imap: IMAP }
const found = (contactsUrl: string | null, calendarUrl: string | null = null) =>
  ({ source: 'srv', contactsUrl, calendarUrl }) as const

test('a password that was sent goes wherever the servers of the address are', async () => {
  const { asked, signIn } = world(
    { 'https://dav.hoster.net/': 'https://dav.hoster.net/ada/' },
    found('https://dav.hoster.net/'),
  )
  const login = { plan: plan({ calendarUrl: null }), password: new Secret('p'), domains: null }
  expect(await requireDav(request, signIn, login, at)).toEqual({
    contactsUrl: 'https://dav.hoster.net/ada/',
    calendarUrl: null,
    user: 'ada',
    auth: 'imap_password',
  })
  expect(asked).toEqual([{ url: 'https://dav.hoster.net/', user: 'ada', password: 'p' }])
})

test.each([
  ['a URL that is named', { contactsUrl: 'https://dav.evil.test/', calendarUrl: null }, []],
  ['a URL that is found', { calendarUrl: null }, [AT_IMAP]],
])('a stored password is not sent to another domain by %s', async (_, input, urls) => {
  const { asked, signIn } = world({}, found('https://dav.evil.test/'))
  const login = { plan: plan(input), password: new Secret('p'), domains: knownDomains(['imap.example.org']) }
  await expect(requireDav(request, signIn, login, at)).rejects.toMatchObject({ reason: 'password_required' })
  expect(asked.map(({ url }) => url)).toEqual(urls)
})

test('a stored password goes to another host of a domain that it was given for', async () => {
  const { signIn } = world({ 'https://dav.example.org/': 'https://dav.example.org/ada/' })
  const given = plan({ contactsUrl: 'https://dav.example.org/', calendarUrl: null })
  const login = { plan: given, password: new Secret('p'), domains: knownDomains(['imap.example.org']) }
  expect(await requireDav(request, signIn, login, at)).toMatchObject({
    contactsUrl: 'https://dav.example.org/ada/',
  })
})

test.each<[string, Answer, string | null]>([
  ['is no DAV server', ['rejected', 'not_dav_server'], null],
  ['is down', ['unavailable'], null],
  ['refuses a login that another server has accepted', ['login_failed'], null],
  ['has the calendars', `${AT_IMAP}ada/`, `${AT_IMAP}ada/`],
])('the IMAP host is tried for a half that was not named: it %s', async (_, answer, calendarUrl) => {
  const { signIn } = world({ 'https://dav.example.org/': 'https://dav.example.org/ada/', [AT_IMAP]: answer })
  const login = {
    plan: plan({ contactsUrl: 'https://dav.example.org/' }),
    password: new Secret('p'),
    domains: null,
  }
  expect(await requireDav(request, signIn, login, at)).toMatchObject({
    contactsUrl: 'https://dav.example.org/ada/',
    calendarUrl,
  })
})

test.each<[string, Answer, string]>([
  ['login_failed', ['login_failed'], 'login_failed'],
  ['nothing found', ['rejected', 'dav_discovery_failed'], 'dav_discovery_failed'],
  ['no way to follow', ['unsupported', 'dav_unsupported'], 'dav_unsupported'],
  ['no DAV server', ['rejected', 'not_dav_server'], 'not_dav_server'],
  ['a server that is down', ['unavailable'], 'provider_unavailable'],
])('a URL that is named and fails is refused: %s', async (_, answer, reason) => {
  const { signIn } = world({ 'https://dav.example.org/': answer })
  const given = plan({ contactsUrl: 'https://dav.example.org/', calendarUrl: null })
  const login = { plan: given, password: new Secret('p'), domains: null }
  await expect(requireDav(request, signIn, login, at)).rejects.toMatchObject({ reason })
})
