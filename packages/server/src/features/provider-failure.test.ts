import { mailboxes } from '@waxwing/contract/mail/mailboxes.ts'
import { messages } from '@waxwing/contract/mail/messages.ts'
import { search } from '@waxwing/contract/mail/search.ts'
import { describe, expect, test } from 'vitest'
import { ProviderFailure, type FailureKind } from '../providers/failure.ts'
import { type Asked, reasonOf, refuseFailure } from './provider-failure.ts'
import { Refusal } from './refuse.ts'

describe('the reason for a failure of a provider', () => {
  test.each<[FailureKind, signIn: string, read: string, search: string, change: string]>([
    [
      'login_failed',
      'login_failed',
      'account_reauth_required',
      'account_reauth_required',
      'account_reauth_required',
    ],
    [
      'grant_refused',
      'invalid_grant',
      'account_reauth_required',
      'account_reauth_required',
      'account_reauth_required',
    ],
    [
      'misconfigured',
      'account_misconfigured',
      'account_misconfigured',
      'account_misconfigured',
      'account_misconfigured',
    ],
    [
      'not_allowed',
      'server_not_allowed',
      'account_misconfigured',
      'account_misconfigured',
      'account_misconfigured',
    ],
    ['mailbox_gone', 'provider_not_found', 'account_disabled', 'account_disabled', 'account_disabled'],
    ['account_deleted', 'account_not_found', 'account_not_found', 'account_not_found', 'account_not_found'],
    ['throttled', 'provider_throttled', 'provider_throttled', 'provider_throttled', 'provider_throttled'],
    [
      'unavailable',
      'provider_unavailable',
      'provider_unavailable',
      'provider_unavailable',
      'provider_unavailable',
    ],
    ['forbidden', 'provider_forbidden', 'provider_forbidden', 'provider_forbidden', 'provider_forbidden'],
    ['not_found', 'provider_not_found', 'provider_not_found', 'provider_unavailable', 'provider_not_found'],
    ['rejected', 'provider_rejected', 'provider_unavailable', 'provider_rejected', 'provider_rejected'],
    ['conflict', 'provider_conflict', 'provider_unavailable', 'provider_unavailable', 'provider_conflict'],
    [
      'unsupported',
      'provider_unsupported',
      'account_misconfigured',
      'provider_unsupported',
      'provider_unsupported',
    ],
  ])('%s', (kind, signIn, read, searched, changed) => {
    const asked: Asked[] = ['sign_in', 'read', 'search', 'change']
    expect(asked.map(what => reasonOf(kind, what))).toEqual([signIn, read, searched, changed])
    // What reads answers is declared in the contract, whatever fails.
    expect(messages.raw['~orpc'].errorMap).toHaveProperty(read)
    expect(search.messages['~orpc'].errorMap).toHaveProperty(searched)
    expect(mailboxes.update['~orpc'].errorMap).toHaveProperty(changed)
  })

  test('says what is wrong with the account in our words, and else what the provider says', () => {
    const refusalOf = (kind: FailureKind) => {
      try {
        return refuseFailure(new ProviderFailure(kind, '10.0.0.1 says no', { retryAfterSeconds: 7 }), 'read')
      } catch (error) {
        return error
      }
    }
    expect(refusalOf('not_allowed')).toBeInstanceOf(Refusal)
    expect(refusalOf('not_allowed')).not.toHaveProperty('message', '10.0.0.1 says no')
    expect(refusalOf('throttled')).toMatchObject({ message: '10.0.0.1 says no', retryAfterSeconds: 7 })
  })

  test('throws on what is no failure of a provider', () => {
    const bug = new TypeError('a bug')
    expect(() => refuseFailure(bug, 'read')).toThrow(bug)
  })
})

test.each<[FailureKind, isPermanent: boolean, isBeforeAcceptance: boolean]>([
  ['grant_refused', true, true],
  ['mailbox_gone', true, true],
  ['rejected', true, true],
  ['login_failed', false, true],
  ['throttled', false, true],
  ['unavailable', false, false],
])('%s says whether it is permanent and came before acceptance', (kind, isPermanent, isBeforeAcceptance) => {
  expect(new ProviderFailure(kind, 'no')).toMatchObject({ isPermanent, isBeforeAcceptance })
})
