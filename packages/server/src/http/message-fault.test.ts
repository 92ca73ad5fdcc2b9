import { expect, test } from 'vitest'
import type { IncomingMessage } from 'node:http'
import { messageFault } from './message-fault.ts'

/** A message with the properties that the rules read. */
function message(url: string): IncomingMessage {
  return { url, rawHeaders: ['Host', 'localhost'], headers: {}, httpVersion: '1.1' } as IncomingMessage
}

test('accepts only encodings that a path needs', () => {
  const refused = Array.from({ length: 256 }, (_, code) => code.toString(16).padStart(2, '0'))
    .filter(hex => messageFault(message(`/v1/accounts/a%${hex}b`)) !== null)
    .map(hex => String.fromCharCode(Number.parseInt(hex, 16)))
  const unreserved = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'
  expect(refused.toSorted()).toEqual([...unreserved, '\\'].toSorted())
})

test.each([
  '/v1/accounts/a..b',
  '/v1/accounts/...',
  '/v1/accounts/.a',
  '/v1/accounts/a%2F..b%2f.c',
  '/v1/accounts/a%zz',
  '/v1/accounts/%',
  '/v1/accounts?cursor=%2e%2e/../',
  '*',
])('%s is no fault', url => {
  expect(messageFault(message(url))).toBeNull()
})
