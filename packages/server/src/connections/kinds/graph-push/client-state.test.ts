import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import fc from '../../../../test/property.ts'
import type { SubscribedKind } from '../../../accounts/grants/subscriptions.ts'
import { newId } from '../../../kit/ids.ts'
import { clientStates, newNonce } from './client-state.ts'

const states = clientStates(createSecretKey(randomBytes(32)))
const subscribed = (kind: SubscribedKind = 'mail') => ({ accountId: newId(), kind, nonce: newNonce() })

test.each(['mail', 'contacts'] as const)('reads the account, the nonce and the kind %s', kind => {
  const given = subscribed(kind)
  const made = states.make(given)
  expect(made.length).toBeLessThanOrEqual(128)
  expect(made).toMatch(/^[\w-]+$/)
  expect(states.read(made)).toEqual(given)
})

test('refuses a text in which any byte was changed', () => {
  const bytes = Buffer.from(states.make(subscribed()), 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
    expect(states.read(changed.toString('base64url'))).toBeNull()
  }
})

test('refuses the text of another installation', () => {
  const others = clientStates(createSecretKey(randomBytes(32)))
  expect(states.read(others.make(subscribed()))).toBeNull()
})

test('refuses any other text, whatever its length', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 200 }), fc.base64String({ maxLength: 128 })), text => {
      expect(states.read(text)).toBeNull()
    }),
  )
  const made = states.make(subscribed())
  for (const text of ['', made.slice(1), `${made}A`, made.slice(0, -4), `${made}\n`])
    expect(states.read(text)).toBeNull()
})

test('makes none of what is no id of an account, or no nonce', () => {
  expect(() => states.make({ accountId: 'x', kind: 'mail', nonce: newNonce() })).toThrow(RangeError)
  expect(() => states.make({ accountId: newId(), kind: 'mail', nonce: 'x' })).toThrow(RangeError)
})
