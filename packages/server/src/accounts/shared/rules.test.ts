import { describe, expect, test } from 'vitest'
import { type DelegateReason, delegateReason, planFollowing } from './rules.ts'

describe('delegateReason', () => {
  const good = { isDeleted: false, isGranted: true, needsGrant: false, hasScopes: true }
  test.each([
    ['a delegate with a grant', {}, null],
    ['a delegate whose grant was refused', { isGranted: false }, 'delegate_reauth_required'],
    ['a delegate whose grant is for its own mailbox', { hasScopes: false }, 'delegate_reauth_required'],
    ['a delegate that needs more scopes', { needsGrant: true }, 'delegate_reauth_required'],
    ['a deleted delegate', { isDeleted: true, isGranted: false }, 'delegate_deleted'],
  ])('of %s', (_, state, reason) => {
    expect(delegateReason({ ...good, ...state })).toBe(reason)
  })
})

describe('planFollowing', () => {
  const none = { stopped: [], renamed: [], revived: [] }
  const ids = ['id']
  const REAUTH: DelegateReason = 'delegate_reauth_required'
  test.each([
    ['active', null, REAUTH, { ...none, stopped: ids }],
    ['active', null, null, none],
    ['reauth_required', REAUTH, REAUTH, none],
    ['reauth_required', REAUTH, 'delegate_deleted', { ...none, renamed: ids }],
    ['reauth_required', 'delegate_deleted', null, { ...none, revived: ids }],
    ['reauth_required', 'scope_missing', null, { ...none, revived: ids }],
    ['reauth_required', 'scope_missing', REAUTH, { ...none, renamed: ids }],
    ['paused', 'paused_by_user', REAUTH, none],
    ['paused', 'paused_by_user', null, none],
    ['disabled', 'provider_not_found', null, none],
    ['disabled', 'operator', 'delegate_deleted', none],
  ] as const)('of an account that is %s (%s), with the reason %s', (status, known, reason, expected) => {
    expect(planFollowing([{ id: 'id', status, status_reason: known }], reason)).toEqual(expected)
  })
})
