import { describe, expect, test } from 'vitest'
import { readChallenges } from './challenges.ts'
import { chooseDigest, type DigestChallenge, digestAuthorization } from './digest.ts'
import { LoginSchemes } from './login.ts'

describe('readChallenges', () => {
  test.each([
    ['Basic realm="a, b \\"c\\""', [{ scheme: 'basic', parameters: { realm: 'a, b "c"' } }]],
    ['BASIC', [{ scheme: 'basic', parameters: {} }]],
    [
      'Digest realm=x, qop="auth,auth-int" , nonce="n==", Basic realm="y"',
      [
        { scheme: 'digest', parameters: { realm: 'x', qop: 'auth,auth-int', nonce: 'n==' } },
        { scheme: 'basic', parameters: { realm: 'y' } },
      ],
    ],
    [
      'Negotiate YWJj==, , Bearer scope="a"',
      [
        { scheme: 'negotiate', parameters: {} },
        { scheme: 'bearer', parameters: { scope: 'a' } },
      ],
    ],
    ['realm="of nothing"', []],
    ['', []],
  ])('reads %j', (header, expected) => expect(readChallenges(header)).toEqual(expected))

  test('reads several headers, and ends within a bound', () => {
    expect(readChallenges(['Digest nonce="n"', 'Basic']).map(({ scheme }) => scheme)).toEqual([
      'digest',
      'basic',
    ])
    expect(readChallenges('a '.repeat(1_000_000)).length).toBeLessThan(8_192)
  })
})

describe('Digest', () => {
  /** The example of RFC 7616 section 3.9.1. */
  const challenge: DigestChallenge = {
    algorithm: 'SHA-256',
    realm: 'http-auth@example.org',
    nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
    opaque: 'FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS',
    hasQop: true,
  }
  const request = {
    user: 'Mufasa',
    password: 'Circle of Life',
    method: 'GET',
    uri: '/dir/index.html',
    count: 1,
    clientNonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
  }

  test.each([
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
  ])('answers with %s as the RFC does', (algorithm, response) => {
    const value = digestAuthorization({ ...challenge, algorithm }, request)
    expect(value).toContain(`response="${response}"`)
    expect(value).toContain('nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth')
  })

  test('answers without qop as RFC 2617 does', () => {
    const old = { algorithm: 'MD5', realm: 'r', nonce: 'n', opaque: null, hasQop: false }
    expect(digestAuthorization(old, request)).not.toMatch(/nc=|cnonce|qop|opaque/)
  })

  test('sends a name beyond ASCII in a parameter of its own', () => {
    expect(digestAuthorization(challenge, { ...request, user: "Jäsøn's" })).toContain(
      "username*=UTF-8''J%C3%A4s%C3%B8n%27s,",
    )
  })

  test.each([
    ['Digest nonce="n", algorithm=MD5, Digest nonce="m", algorithm=SHA-256', 'm'],
    ['Digest nonce="n", algorithm=SHA-512-256, Digest nonce="m"', 'm'],
    ['Digest nonce="n", qop="auth-int"', undefined],
    ['Digest realm="without a nonce"', undefined],
    ['Digest nonce="n\u00e4"', undefined],
    ['Basic realm="x"', undefined],
  ])('chooses of %j the nonce %j', (header, nonce) =>
    expect(chooseDigest(readChallenges(header))?.nonce).toBe(nonce),
  )
})

describe('LoginSchemes', () => {
  const url = new URL('https://dav.example.com/a')
  const login = { user: 'ada', password: 'pw' }
  const signed = { method: 'GET', url }
  const asking = (header: string) => ({ 'www-authenticate': header })

  test('sends no password before a server asks for one, and Basic if that is offered', () => {
    const schemes = new LoginSchemes()
    expect(schemes.authorize(login, signed)).toBeNull()

    expect(schemes.refused(url, asking('Digest nonce="n", Basic realm="x"'), null)).toBe(true)

    expect(schemes.authorize(login, signed)).toBe(`Basic ${btoa('ada:pw')}`)
    expect(schemes.refused(url, asking('Basic realm="x"'), 'Basic x')).toBe(false)
    expect(schemes.authorize(login, { method: 'GET', url: new URL('https://other.example.com') })).toBeNull()
  })

  test('counts the uses of a nonce, and takes a new one if it has ended', () => {
    const schemes = new LoginSchemes()
    schemes.refused(url, asking('Digest nonce="one"'), null)
    expect(schemes.authorize(login, signed)).toMatch(/^Digest .*nonce="one"/)
    // It was new, so the password is wrong.
    expect(schemes.refused(url, asking('Digest nonce="two"'), 'Digest x')).toBe(false)
    schemes.authorize(login, signed)
    expect(schemes.refused(url, asking('Digest nonce="three", stale=TRUE'), 'Digest x')).toBe(true)
    schemes.authorize(login, signed)
    schemes.authorize(login, signed)
    expect(schemes.refused(url, asking('Digest nonce="four"'), 'Digest x')).toBe(true)
  })

  test('does not log in to a server that offers only what it cannot use', () => {
    const schemes = new LoginSchemes()
    expect(schemes.refused(url, asking('Bearer, Negotiate'), null)).toBe(false)
    expect(schemes.refused(url, {}, null)).toBe(false)
    expect(schemes.knows(url)).toBe(false)
  })
})
