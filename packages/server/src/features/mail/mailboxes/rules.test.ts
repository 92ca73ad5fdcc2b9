import { describe, expect, test } from 'vitest'
import type { RemoteMailbox } from '../../../providers/mail.ts'
import { type IndexedMailbox, planMailboxes } from './rules.ts'

function indexed(id: string, key: string, more: Partial<IndexedMailbox> = {}): IndexedMailbox {
  return {
    id,
    provider_key: key,
    is_deleted: false,
    provider_id: null,
    name: key,
    path: key,
    parent_id: null,
    role: 'custom',
    kind: 'folder',
    source: key,
    total_count: 0,
    unread_count: 0,
    cursor: { validity: id },
    ...more,
  }
}

function remote(key: string, more: Partial<RemoteMailbox> = {}): RemoteMailbox {
  return {
    key,
    providerId: null,
    name: key,
    path: key,
    parentKey: null,
    role: 'custom',
    kind: 'folder',
    totalCount: 0,
    unreadCount: 0,
    source: key,
    state: {},
    ...more,
  }
}

function plan(before: IndexedMailbox[], now: RemoteMailbox[]) {
  const { kept, created, vanished } = planMailboxes(
    before,
    now,
    ({ state }, cursor) => state?.validity === cursor.validity,
  )
  return {
    kept: kept.map(pair => `${pair.indexed.id}=${pair.remote.key}`).toSorted(),
    created: created.map(({ key }) => key),
    vanished: vanished.map(({ id }) => id),
  }
}

describe('planMailboxes', () => {
  test('matches by key', () => {
    expect(plan([indexed('1', 'A'), indexed('2', 'B')], [remote('B'), remote('C')])).toEqual({
      kept: ['2=B'],
      created: ['C'],
      vanished: ['1'],
    })
  })

  test('follows a lasting id through a rename, and through two names that are swapped', () => {
    const before = [indexed('1', 'A', { provider_id: 'x' }), indexed('2', 'B', { provider_id: 'y' })]
    expect(plan(before, [remote('B', { providerId: 'x' }), remote('A', { providerId: 'y' })])).toEqual({
      kept: ['1=B', '2=A'],
      created: [],
      vanished: [],
    })
  })

  test('another lasting id under the old name is another mailbox', () => {
    expect(plan([indexed('1', 'A', { provider_id: 'x' })], [remote('A', { providerId: 'z' })])).toEqual({
      kept: [],
      created: ['A'],
      vanished: ['1'],
    })
  })

  test('follows a rename that the adapter is sure of', () => {
    expect(plan([indexed('1', 'A')], [remote('B', { state: { validity: '1' } })])).toEqual({
      kept: ['1=B'],
      created: [],
      vanished: [],
    })
  })

  test.each([
    ['two mailboxes appeared that fit one that vanished', [indexed('1', 'A')], ['1', '1']],
    [
      'one that appeared fits two that vanished',
      [indexed('1', 'A'), indexed('2', 'B', { cursor: { validity: '1' } })],
      ['1'],
    ],
  ])('does not guess when %s', (_, before, validities) => {
    const now = validities.map((validity, index) => remote(`New ${index}`, { state: { validity } }))
    const { kept, created, vanished } = plan(before, now)
    expect(kept).toEqual([])
    expect(created).toHaveLength(now.length)
    expect(vanished).toHaveLength(before.length)
  })
})
