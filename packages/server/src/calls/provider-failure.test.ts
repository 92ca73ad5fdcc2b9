import { mailboxes } from '@waxwing/contract/mail/mailboxes.ts'
import { messages } from '@waxwing/contract/mail/messages.ts'
import { search as searches } from '@waxwing/contract/mail/search.ts'
import { describe, expect, test } from 'vitest'
import { ProviderFailure, type FailureKind } from '../providers/failure.ts'
import { type Asked, reasonOf, refuseFailure } from './provider-failure.ts'
import { Refusal } from './refuse.ts'

describe('the reason for a failure of a provider', () => {
  test.each<
    [FailureKind, signIn: string, grant: string, read: string, search: string | null, change: string | null]
  >([
    ['login_failed', 'login_failed', 'login_failed', 'account_reauth_required', null, null],
    ['grant_refused', 'invalid_grant', 'invalid_grant', 'account_reauth_required', null, null],
    ['access_refused', 'access_token_rejected', 'access_token_rejected', 'provider_unavailable', null, null],
    ['scope_missing', 'scope_missing', 'scope_missing', 'provider_forbidden', null, 'scope_missing'],
    ['misconfigured', 'account_misconfigured', 'invalid_client', 'account_misconfigured', null, null],
    ['not_allowed', 'server_not_allowed', 'provider_unavailable', 'account_misconfigured', null, null],
    ['mailbox_gone', 'provider_not_found', 'provider_forbidden', 'account_disabled', null, null],
    ['account_deleted', 'account_not_found', 'account_not_found', 'account_not_found', null, null],
    ['throttled', 'provider_throttled', 'provider_throttled', 'provider_throttled', null, null],
    ['unavailable', 'provider_unavailable', 'provider_unavailable', 'provider_unavailable', null, null],
    ['forbidden', 'provider_forbidden', 'provider_forbidden', 'provider_forbidden', null, null],
    [
      'not_found',
      'provider_not_found',
      'provider_forbidden',
      'provider_not_found',
      'provider_unavailable',
      null,
    ],
    [
      'rejected',
      'provider_rejected',
      'token_exchange_failed',
      'provider_unavailable',
      'provider_rejected',
      'provider_rejected',
    ],
    [
      'conflict',
      'provider_conflict',
      'token_exchange_failed',
      'provider_unavailable',
      null,
      'provider_conflict',
    ],
    [
      'unsupported',
      'provider_unsupported',
      'token_exchange_failed',
      'account_misconfigured',
      'provider_unsupported',
      'provider_unsupported',
    ],
  ])('%s', (kind, signIn, grant, read, search, change) => {
    const [searched, changed] = [search ?? read, change ?? read]
    const asked: Asked[] = ['sign_in', 'grant', 'read', 'search', 'change']
    expect(asked.map(what => reasonOf(kind, what))).toEqual([signIn, grant, read, searched, changed])
    // Each reason is declared in the contract for its operation.
    expect(messages.raw['~orpc'].errorMap).toHaveProperty(read)
    expect(searches.messages['~orpc'].errorMap).toHaveProperty(searched)
    expect(mailboxes.update['~orpc'].errorMap).toHaveProperty(changed)
  })

  test('describes problems of the account in words of the service, and other failures in those of the provider', () => {
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
])(
  '%s determines whether a failure is permanent and came before acceptance',
  (kind, isPermanent, isBeforeAcceptance) => {
    expect(new ProviderFailure(kind, 'no')).toMatchObject({ isPermanent, isBeforeAcceptance })
  },
)
