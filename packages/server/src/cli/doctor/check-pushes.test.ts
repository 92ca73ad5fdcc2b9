import { expect, test } from 'vitest'
import { checkPushes } from './check-pushes.ts'

const MICROSOFT = { provider: 'microsoft' } as const
const SANDBOX = 'http://127.0.0.1:8040'

test.each([
  ['https://mail.example.com', null, 'ok', 'to https://mail.example.com.'],
  ['https://mail.internal', null, 'warning', 'https://mail.internal is not a public https address'],
  ['http://mail.example.com', null, 'warning', 'http://mail.example.com is not a public https address'],
  ['http://localhost:8025', null, 'warning', 'looked at every 30 seconds'],
  [null, null, 'warning', 'The address of the API is not a public https address'],
  ['http://localhost:8025', SANDBOX, 'ok', 'played by the sandbox'],
  [null, SANDBOX, 'ok', 'played by the sandbox'],
])('with the base address %s and the sandbox %s it is "%s"', (baseUrl, sandboxUrl, state, message) => {
  expect(checkPushes({ baseUrl, sandboxUrl }, [MICROSOFT, MICROSOFT])).toEqual([
    {
      check: 'pushes',
      state,
      message: expect.stringContaining(message),
      remedy: state === 'ok' ? null : expect.stringContaining('WAXWING_BASE_URL'),
    },
  ])
})

test('there is no finding if no app is at a provider that posts to the base address', () => {
  expect(checkPushes({ baseUrl: null, sandboxUrl: null }, [{ provider: 'google' }])).toEqual([])
  expect(checkPushes({ baseUrl: null, sandboxUrl: null }, [])).toEqual([])
})
