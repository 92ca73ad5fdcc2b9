import { describe, expect, test } from 'vitest'
import type { RemoteMessage } from '../../../providers/mail.ts'
import { pairUp, type UnplacedMessage } from './pair-moved.ts'
import type { Arrival } from './arrival.ts'

describe('pairUp', () => {
  const arrival = (mailbox: string, identity: string, uid: number): Arrival => ({
    // Only the identity and, to tell them apart here, the key matter.
    message: { identity, key: uid } as RemoteMessage,
    mailboxes: [{ id: mailbox, key: mailbox, role: 'custom' }],
  })
  const unplaced = (id: string, mailbox: string, identity: string, isRenumbered = false) =>
    ({ id, identity, mailbox_ids: [mailbox], is_renumbered: isRenumbered }) as UnplacedMessage

  test('keeps the number of equal messages', () => {
    const { found, created } = pairUp(
      [arrival('a', 'x', 1), arrival('a', 'x', 2), arrival('a', 'x', 3)],
      [unplaced('1', 'a', 'x'), unplaced('2', 'a', 'x')],
    )
    expect(found.map(pair => pair.unplaced.id)).toEqual(['1', '2'])
    expect(created.map(({ message }) => message.key)).toEqual([3])
  })

  test.each([
    ['one of the same mailbox is taken before one that vanished elsewhere', ['b', 'a'], [false, true], '1'],
    [
      'one that vanished is taken before one whose mailbox is being read again',
      ['b', 'c'],
      [true, false],
      '1',
    ],
    ['one whose mailbox is being read again is taken when there is no other', ['b'], [true], '0'],
  ])('%s', (_, mailboxes, renumbered, expected) => {
    const candidates = mailboxes.map((mailbox, index) =>
      unplaced(String(index), mailbox, 'x', renumbered[index]),
    )
    expect(pairUp([arrival('a', 'x', 1)], candidates).found[0]?.unplaced.id).toBe(expected)
  })

  test('creates an arrival that equals no missing message', () => {
    expect(pairUp([arrival('a', 'x', 1)], [unplaced('1', 'a', 'y')])).toMatchObject({
      found: [],
      created: [{ message: { key: 1 } }],
    })
  })
})
