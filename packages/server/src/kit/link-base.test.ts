import { describe, expect, test } from 'vitest'
import { isSameHost, planLinkBase } from './link-base.ts'

describe('the base of links', () => {
  test.each([
    [null, null, null],
    [null, 'https://mail.example.com', [true, true, null]],
    [null, 'https://mail.example.com/waxwing', [true, true, null]],
    [null, 'http://mail.example.com', [false, false, null]],
    [null, 'https://localhost:8025', [false, true, null]],
    [null, 'https://waxwing', [false, true, null]],
    [null, 'https://192.0.2.1', [false, true, null]],
    [null, 'https://[2001:db8::1]', [false, true, null]],
    [null, 'https://printer.local', [false, true, null]],
    [null, 'https://waxwing.internal', [false, true, null]],
    [null, 'https://waxwing.internal.', [false, true, null]],
    [null, 'https://local.example.com', [true, true, null]],
    ['http://localhost:9000', null, [true, false, 'localhost:9000']],
    ['https://links.example.com', 'https://mail.example.com', [true, true, 'links.example.com']],
    ['https://mail.example.com', 'https://mail.example.com', [true, true, null]],
    ['https://mail.example.com:8443', 'https://mail.example.com', [true, true, 'mail.example.com:8443']],
  ] as const)('of %s beside %s', (linksUrl, baseUrl, expected) => {
    const base = planLinkBase({ linksUrl, baseUrl, sandboxUrl: null })
    expect(base && [base.isPublic, base.isHttps, base.ownHost]).toEqual(expected)
    expect(base?.url ?? null).toBe(linksUrl ?? baseUrl)
  })

  test.each([
    [null, 'http://127.0.0.1:8025', true],
    [null, 'http://localhost:8025', true],
    [null, 'http://[::1]:8025', true],
    [null, 'http://192.168.0.2:8025', false],
    [null, 'http://waxwing.test', false],
    ['http://127.0.0.1:9000', 'http://127.0.0.1:8025', false],
  ])('with a sandbox, of %s beside %s, is played: %s', (linksUrl, baseUrl, isPlayed) => {
    const base = planLinkBase({ linksUrl, baseUrl, sandboxUrl: 'http://127.0.0.1:8040' })
    expect(base).toMatchObject({ isPlayed, isPublic: isPlayed || linksUrl !== null })
  })

  test.each([
    ['links.example.com', true],
    ['LINKS.example.com:443', true],
    ['links.example.com.', true],
    ['links.example.com:8080', false],
    ['mail.example.com', false],
    [null, false],
  ])('recognises its host in %s: %s', (header, expected) => {
    expect(isSameHost(header, 'links.example.com')).toBe(expected)
  })
})
