import { expect, test } from 'vitest'
import { checkLinks } from './check-links.ts'

test.each([
  [null, null, 'ok', /^No public address/],
  [null, 'http://localhost:8025', 'ok', /^No public address/],
  [null, 'https://mail.example.com', 'ok', /^https:\/\/mail\.example\.com$/],
  ['https://links.example.com', 'https://mail.example.com', 'ok', /a host that serves nothing else/],
  ['http://links.example.com', null, 'warning', /is not HTTPS/],
] as const)('links of %s beside %s are %s', (linksUrl, baseUrl, state, message) => {
  expect(checkLinks({ linksUrl, baseUrl, sandboxUrl: null })).toMatchObject({
    state,
    message: expect.stringMatching(message),
  })
})

test.each([
  [null, null, /^On this machine/],
  [null, 'http://127.0.0.1:8025', /^On this machine/],
  [null, 'http://192.0.2.1:8025', /^No public address/],
  ['https://links.example.com', null, /a host that serves nothing else/],
] as const)('with a sandbox, links of %s beside %s are fine', (linksUrl, baseUrl, message) => {
  const sandboxUrl = 'http://127.0.0.1:8040'
  expect(checkLinks({ linksUrl, baseUrl, sandboxUrl })).toMatchObject({
    state: 'ok',
    message: expect.stringMatching(message),
  })
})
