import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import { clientStates } from './client-state.ts'
import { planSubscription } from './plan.ts'

const states = clientStates(createSecretKey(randomBytes(32)))
/** A plan asks the database for nothing until it is carried out. */
const db = {} as Db

function plan(url: string, { isPlayed = false, delegateId = null as string | null } = {}) {
  const id = newId()
  const base = { url: () => url, isPlayed }
  const made = planSubscription({ db, states, base }, { id, delegate_account_id: delegateId })
  return { id, made }
}

test.each([
  ['an address that is not public', 'http://localhost:8025', {}],
  ['an address without TLS', 'http://mail.example.com', {}],
  ['a shared mailbox', 'https://mail.example.com', { delegateId: newId() }],
])('there is none for %s', (_, url, options) => {
  expect(plan(url, options).made).toBeNull()
})

test.each([
  ['a public address', 'https://mail.example.com', {}, 'https://mail.example.com/push/graph'],
  ['a path', 'https://example.com/mail/', {}, 'https://example.com/mail/push/graph'],
  ['a sandbox', 'http://localhost:8025', { isPlayed: true }, 'http://localhost:8025/push/graph'],
])('with %s it names the addresses, and states of the account', (_, url, options, notificationUrl) => {
  const { id, made } = plan(url, options)
  expect(made).toMatchObject({ notificationUrl, lifecycleUrl: `${notificationUrl}/lifecycle` })
  const [one, other] = [made!.newState(), made!.newState()]
  expect(states.read(one.clientState)).toEqual({ accountId: id, kind: 'mail', nonce: one.nonce })
  expect(other.nonce).not.toBe(one.nonce)
})

test('a subscription leads here only if it was made for the present address', () => {
  const { made: former } = plan('https://old.example.com')
  const { made: present } = plan('https://mail.example.com')
  const times = { expiresAt: new Date(0), renewAt: new Date(0) }
  const kept = { id: 's', nonce: former!.newState().nonce, ...times }
  expect(former!.leadsHere(kept)).toBe(true)
  expect(present!.leadsHere(kept)).toBe(false)
})
