import { expect, test } from 'vitest'
import { checkLinks } from './check-links.ts'

test.each([
  [null, null, 'ok', /^No public address/],
  [null, 'http://localhost:8025', 'ok', /^No public address/],
  [null, 'https://mail.example.com', 'ok', /^https:\/\/mail\.example\.com$/],
  ['https://links.example.com', 'https://mail.example.com', 'ok', /a host that serves nothing else/],
  ['http://links.example.com', null, 'warning', /is not HTTPS/],
] as const)('links of %s beside %s are %s', (linksUrl, baseUrl, state, message) => {
  expect(checkLinks({ linksUrl, baseUrl })).toMatchObject({ state, message: expect.stringMatching(message) })
})
