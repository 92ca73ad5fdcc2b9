import { describe, expect, test } from 'vitest'
import { createLinkTokens } from '../../../kit/link-token.ts'
import { planLinkBase } from '../../../kit/link-base.ts'
import { newId } from '../../../kit/ids.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { requireListSend } from './access.ts'
import { suppressedMessage } from './rules.ts'
import { openUnsubscribeToken, unsubscribeUrl } from './unsubscribe-link.ts'

const linksOf = (
  linksUrl: string | null,
  baseUrl: string | null = null,
  sandboxUrl: string | null = null,
) => ({
  base: planLinkBase({ linksUrl, baseUrl, sandboxUrl }),
  tokens: createLinkTokens(Buffer.alloc(32, 7)),
})

/** The reason of the refusal; null without one. */
function refusalOf(work: () => void): string | null {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof Refusal) return error.reason
    throw error
  }
}

test.each([
  ['no address', linksOf(null), 'list_unsubscribe_unavailable'],
  ['a private base address', linksOf(null, 'http://127.0.0.1:8080'), 'list_unsubscribe_unavailable'],
  [
    'the address of a machine with a sandbox',
    linksOf(null, 'http://127.0.0.1:8080', 'http://127.0.0.1:8040'),
    null,
  ],
  ['a links address without TLS', linksOf('http://links.example.com'), 'list_unsubscribe_unavailable'],
  ['a public base address', linksOf(null, 'https://mail.example.com'), null],
  ['a links address', linksOf('https://links.example.com', 'http://127.0.0.1'), null],
])('a send to a list with %s', (_, links, reason) => {
  expect(refusalOf(() => requireListSend(links, { to: [1], cc: [], bcc: [] }))).toBe(reason)
})

describe('the token of a link', () => {
  const links = linksOf('https://links.example.com')
  const of = { tenantId: newId(), outboxId: newId() }

  test.each([
    ['ada@example.org', 'news'],
    ['jö@xn--bcher-kva.example', 'global'],
    [`${'x'.repeat(64)}@${'long.'.repeat(50)}example`, 'a'.repeat(63)],
  ])('names tenant, list, address and send: %s on %s', (address, listId) => {
    const url = unsubscribeUrl(links, { ...of, listId, address: address.toUpperCase() })
    // RFC 5322 section 2.1.1: a line has at most 998 characters.
    expect(` <${url}>`.length).toBeLessThan(998)
    const token = url.replace('https://links.example.com/u/', '')
    expect(openUnsubscribeToken(links, token)).toEqual({ ...of, listId, address })
  })

  test('is unknown if its version is', () => {
    const token = links.tokens.make('unsubscribe', Buffer.alloc(60, 9))
    expect(openUnsubscribeToken(links, token)).toBeNull()
    expect(openUnsubscribeToken(links, links.tokens.make('unsubscribe', Buffer.alloc(0)))).toBeNull()
  })
})

test('a refusal names up to 20 addresses', () => {
  expect(suppressedMessage(['b@x.test', 'a@x.test'])).toBe('a@x.test, b@x.test are suppressed.')
  const many = Array.from({ length: 25 }, (_, n) => `u${n}@x.test`)
  expect(suppressedMessage(many)).toMatch(/^u0@x\.test, .* and 5 more are suppressed\.$/)
})
