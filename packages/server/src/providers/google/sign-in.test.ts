import { describe, expect, test } from 'vitest'
import { callsTo } from '../../../test/gmail/reach-sandbox.ts'
import { type SandboxServer, startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { Secret } from '../../kit/secret.ts'
import { describeSignIn, type SignInArrangement } from '../conformance/sign-in.ts'
import type { HalfAccess } from '../sign-in.ts'
import { grantsMail, halvesOf, parseScopes, readsMail, scopesFor } from './scopes.ts'
import { googleSignIn } from './sign-in.ts'

const EMAIL = 'ada@gmail.test'
const API = 'https://www.googleapis.com/auth/'
const HOST_OF = { tokens: 'oauth2.googleapis.com', mailbox: 'gmail.googleapis.com' }
const FAULTS = {
  throttled: { does: 'rate_limit', retryAfterSeconds: 7 },
  down: { does: 'error', status: 503 },
  torn: { does: 'torn' },
  unauthorized: { does: 'unauthorized' },
}

const sandbox = useServer<SandboxServer>(() => startSandbox())

async function open(): Promise<SignInArrangement> {
  const server = sandbox()
  await server.reset()
  const calls = callsTo(server)
  const standIns = new Map(Object.entries(server.hosts).map(([host, origin]) => [host, new URL(origin)]))
  const signIn = googleSignIn({ calls, standIns })
  return {
    signIn,
    client: {
      clientId: 'sandbox',
      credential: { type: 'secret', secret: new Secret('sandbox-secret') },
    },
    redirectUri: 'http://127.0.0.1:8025/connect/callback/google',
    email: EMAIL,
    identityScopes: ['openid', 'email', 'profile'],
    calendarScope: `${API}calendar`,
    contactsScope: `${API}contacts`,
    async answer(url, without = []) {
      const asked = new URL(url).searchParams.get('scope')?.split(' ') ?? []
      const scopes = asked.filter(scope => !without.includes(scope))
      return new URL((await server.authorize(url, EMAIL, { scopes })).redirectUrl)
    },
    grantElsewhere: async scopes => new Secret((await server.grant(EMAIL, scopes)).refreshToken),
    end: token => signIn.revoke(token, AbortSignal.timeout(20_000)),
    failOnce: async (at, how) =>
      void (await server.addFault({ ...FAULTS[how], host: HOST_OF[at], count: 1 })),
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}

describeSignIn(open, {
  halves: { calendar: 'writes', contacts: 'writes' },
  accumulates: false,
  takesNameless: true,
})

test('asks for consent, offline access and nothing that was granted elsewhere, and binds the code to a verifier', () => {
  const { authorizeUrl } = googleSignIn({ calls: callsTo({ hosts: {} }), standIns: null })
  const url = new URL(
    authorizeUrl({
      clientId: 'an-app',
      redirectUri: 'https://mail.example.com/connect/callback/google',
      scopes: ['openid', `${API}gmail.modify`],
      state: 'the state',
      nonce: 'the nonce',
      codeChallenge: 'the challenge',
      loginHint: EMAIL,
    }),
  )
  expect(url.origin + url.pathname).toBe('https://accounts.google.com/o/oauth2/v2/auth')
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: 'an-app',
    redirect_uri: 'https://mail.example.com/connect/callback/google',
    response_type: 'code',
    scope: `openid ${API}gmail.modify`,
    state: 'the state',
    nonce: 'the nonce',
    code_challenge: 'the challenge',
    code_challenge_method: 'S256',
    access_type: 'offline',
    prompt: 'consent',
    include_granted_scopes: 'false',
    login_hint: EMAIL,
  })
})

describe('scopes', () => {
  const modify = `${API}gmail.modify`
  test.each<[string, asked: string[], granted: string[], boolean]>([
    ['all that was asked for', [modify], [modify], true],
    ['everything of mail', [modify], ['https://mail.google.com/'], true],
    ['less than everything of mail', ['https://mail.google.com/'], [modify], false],
    ['sending within changing', [`${API}gmail.send`, `${API}gmail.readonly`], [modify], true],
    ['no settings', [modify, `${API}gmail.settings.basic`], [modify], true],
    ['reading alone', [modify], [`${API}gmail.readonly`], false],
    ['headers alone', [`${API}gmail.metadata`], [`${API}gmail.metadata`], false],
    ['no calendar', [modify, `${API}calendar`], [modify], true],
    ['nothing of mail', [modify], ['openid', `${API}calendar`], false],
  ])('%s', (_, asked, granted, expected) => {
    expect(grantsMail(asked, granted)).toBe(expected)
  })

  test('come from the app if it names some, and identify the user', () => {
    expect(scopesFor(null, { calendar: false, contacts: true, shared: false })).toEqual([
      'openid',
      'email',
      'profile',
      modify,
      `${API}gmail.settings.basic`,
      `${API}contacts`,
    ])
    expect(
      scopesFor(['https://mail.google.com/', 'openid'], { calendar: true, contacts: true, shared: false }),
    ).toEqual(['openid', 'email', 'profile', 'https://mail.google.com/'])
  })

  test('are read under their long names', () => {
    expect(parseScopes(`email  profile ${modify} ${modify}`)).toEqual([
      `${API}userinfo.email`,
      `${API}userinfo.profile`,
      modify,
    ])
    expect(readsMail([`${API}gmail.metadata`])).toBe(false)
  })

  const CALENDAR = `${API}calendar`
  test.each<[string, scopes: string[], HalfAccess]>([
    ['everything', [CALENDAR], 'writes'],
    ['reading', [`${CALENDAR}.readonly`], 'reads'],
    ['events without their calendars', [`${CALENDAR}.events`], 'none'],
    ['events and a list of calendars', [`${CALENDAR}.events`, `${CALENDAR}.calendarlist.readonly`], 'writes'],
    ['events, and reading everything', [`${CALENDAR}.events`, `${CALENDAR}.readonly`], 'writes'],
    ['reading events and calendars', [`${CALENDAR}.events.readonly`, `${CALENDAR}.calendarlist`], 'reads'],
    ['free and busy times', [`${CALENDAR}.freebusy`, `${CALENDAR}.events.freebusy`], 'none'],
    ['settings', [`${CALENDAR}.settings.readonly`], 'none'],
    ['another scope of the same beginning', [`${CALENDAR}x`], 'none'],
  ])('allow with calendars: %s', (_, scopes, expected) => {
    expect(halvesOf([modify, ...scopes])).toEqual({ calendar: expected, contacts: 'none' })
  })

  test.each<[string, scopes: string[], HalfAccess]>([
    ['everything', [`${API}contacts`], 'writes'],
    ['reading', [`${API}contacts.readonly`], 'reads'],
    ['other contacts', [`${API}contacts.other.readonly`], 'none'],
    ['a directory', [`${API}directory.readonly`], 'none'],
    ['another scope of the same beginning', [`${API}contactsx`], 'none'],
  ])('allow with contacts: %s', (_, scopes, expected) => {
    expect(halvesOf([modify, ...scopes])).toEqual({ calendar: 'none', contacts: expected })
  })
})
