import { operation } from '@waxwing/contract/operation.ts'
import { pathId, pathName } from '@waxwing/contract/shapes.ts'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'

const common = { summary: 'Do something.', output: z.null() } as const
const token = z.strictObject({ token: z.string() })

describe('operation()', () => {
  test('requires an audit action for every operation that may change something', () => {
    // @ts-expect-error -- without an audit action
    operation({ ...common, method: 'POST', path: '/v1/things', scope: 'write' })
    // @ts-expect-error -- without an audit action
    operation({ ...common, method: 'DELETE', path: '/v1/things', scope: 'admin' })
    const read = operation({ ...common, method: 'POST', path: '/v1/things', scope: 'read' })
    expect(read['~orpc'].meta.audit).toBeNull()
    const write = operation({
      ...common,
      method: 'POST',
      path: '/v1/things',
      scope: 'write',
      audit: 'thing.create',
      makes: 'thingId',
    })
    expect(write['~orpc'].meta).toMatchObject({
      audit: 'thing.create',
      makes: 'thingId',
      targets: {},
      module: null,
      accountToken: false,
      session: null,
      bodyBytesMax: 2 * 1024 * 1024,
    })
  })

  test('requires the name of what is created, for the audit log', () => {
    const create = {
      ...common,
      method: 'POST',
      path: '/v1/things',
      scope: 'write',
      audit: 'thing.create',
    } as const
    // @ts-expect-error -- `makes` is missing, and an action named `.create` requires it
    operation(create)
    expect(operation({ ...create, makes: null })['~orpc'].meta.makes).toBeNull()
  })

  test('has the ids in its path, and which of them are UUIDs', () => {
    const { meta } = operation({
      ...common,
      method: 'DELETE',
      path: '/v1/lists/{listId}/things/{thingId}/{address}',
      scope: 'write',
      audit: 'thing.delete',
      params: z.strictObject({
        listId: pathName.describe('A word.'),
        thingId: pathId.describe('An id.'),
        address: pathName,
      }),
    })['~orpc']
    expect(meta.targets).toEqual({ listId: 'word', thingId: 'uuid' })
  })

  test('opens only paths below an account to its tokens', () => {
    const open = (path: `/v1/${string}`) =>
      operation({ ...common, method: 'GET', path, scope: 'read', accountToken: true })
    expect(open('/v1/accounts/{accountId}/things')['~orpc'].meta.accountToken).toBe(true)
    for (const path of ['/v1/things', '/v1/accounts', '/v1/accounts/{accountId}s'] as const) {
      expect(() => open(path)).toThrow('account token')
    }
  })

  test('requires the session of a hosted operation, and its token', () => {
    const hosted = { ...common, method: 'GET', scope: 'none' } as const
    // @ts-expect-error -- without a session
    operation({ ...hosted, path: '/v1/hosted/things/{token}', params: token })
    const session = 'meeting_connect_session'
    expect(() => operation({ ...hosted, session, path: '/v1/hosted/things' })).toThrow('{token}')
    const { reasons } = operation({
      ...hosted,
      session,
      path: '/v1/hosted/things/{token}',
      params: token,
    })['~orpc'].meta
    expect(reasons).toContain('meeting_connect_session_not_found')
    expect(reasons).not.toContain('unauthenticated')
  })
})
