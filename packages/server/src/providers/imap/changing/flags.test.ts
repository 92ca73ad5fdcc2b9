import { describe, expect, test } from 'vitest'
import type { FlagChange } from '../../changing.ts'
import type { Selected } from '../open-mailbox.ts'
import { categoryOf, keywordOf } from '../translate.ts'
import { planStores } from './flags.ts'

function opened(change: Partial<Selected> = {}): Selected {
  return {
    wireName: 'INBOX',
    uidValidity: 1,
    uidNext: 1,
    exists: 0,
    wasEmptied: false,
    highestModseq: null,
    mailboxId: null,
    isWritable: true,
    flags: [],
    permanentFlags: null,
    trusted: null,
    ...change,
  }
}

describe('keywords', () => {
  test.each([
    ['work', 'work'],
    ['two words', 'two&ACA-words'],
    ['R&D', 'R&-D'],
    ['Grüße', 'Gr&APwA3w-e'],
    ['junk', '&AGo-unk'],
    ['$Forwarded', '&ACQ-Forwarded'],
    ['(a)', '&ACg-a&ACk-'],
    ['\\Seen', '&AFw-Seen'],
  ])('stand for the category %s', (category, keyword) => {
    expect(keywordOf(category)).toBe(keyword)
    expect(categoryOf(keyword)).toBe(category)
  })
})

describe('a change of flags', () => {
  test.each<[string, FlagChange, Partial<Selected>, Array<[string, string[]]>]>([
    ['of nothing', {}, {}, []],
    [
      'both ways',
      { isRead: true, isFlagged: false, addCategories: ['a b'] },
      {},
      [
        ['+FLAGS', ['a&ACA-b', '\\Seen']],
        ['-FLAGS', ['\\Flagged']],
      ],
    ],
    [
      'of a category that another client spelt in its own way',
      { removeCategories: ['work'] },
      { flags: ['\\Seen', '&AHc-ork', 'Work'] },
      [['-FLAGS', ['work', '&AHc-ork']]],
    ],
    [
      'that leaves out what the mailbox cannot keep and need not',
      { isRead: true, isAnswered: true, isForwarded: true },
      { permanentFlags: new Set(['\\seen', '\\answered']) },
      [['+FLAGS', ['\\Seen', '\\Answered']]],
    ],
    [
      'with a keyword that the mailbox has, where none can be added',
      { addCategories: ['work'] },
      { permanentFlags: new Set(['\\seen', 'work']) },
      [['+FLAGS', ['work']]],
    ],
  ])('%s', (_, change, mailbox, stores) => {
    expect(planStores(change, opened(mailbox)).map(({ item, flags }) => [item, flags])).toEqual(stores)
  })

  test('is refused if the mailbox keeps no categories', () => {
    const mailbox = opened({ permanentFlags: new Set(['\\seen']) })
    expect(() => planStores({ addCategories: ['work'] }, mailbox)).toThrow(
      expect.objectContaining({ kind: 'unsupported' }),
    )
  })
})
