import { describe, expect, test } from 'vitest'
import { Doubts } from './doubts.ts'

const SECOND = 1_000

describe('Doubts', () => {
  test.each([
    ['a hundred of a hundred', 100, 100, true],
    ['half of many', 500, 1_000, true],
    ['most of many', 501, 1_000, false],
    ['all of many', 1_000, 1_000, false],
    ['none', 0, 0, true],
  ])('a loss of %s is believed at once: %j of %j', (_, lost, all, isBelieved) => {
    expect(new Doubts().believes('claim', lost, all)).toBe(isBelieved)
  })

  test('a large loss is believed once the server has claimed it for 20 seconds without a break', () => {
    const { doubts, loses } = openDoubts()
    expect([loses(900, 0), loses(900, 16 * SECOND)]).toEqual([false, false])
    expect(loses(0, 18 * SECOND)).toBe(true)
    expect(doubts.count).toBe(0)
    expect([loses(900, 20 * SECOND), loses(950, 36 * SECOND), loses(900, 40 * SECOND)]).toEqual([
      false,
      false,
      true,
    ])
    expect(loses(900, 44 * SECOND)).toBe(false)
  })

  test('a second listing is due when the time of a doubt is over', () => {
    const { doubts, loses, mustAsk } = openDoubts()
    expect([mustAsk(0), loses(900, 0), mustAsk(19 * SECOND)]).toEqual([false, false, false])
    expect([mustAsk(20 * SECOND), mustAsk(21 * SECOND)]).toEqual([true, false])
    doubts.forget('claim')
    expect([loses(900, 30 * SECOND), mustAsk(50 * SECOND)]).toEqual([false, true])
  })

  test('a doubt about a source that is no longer listed is forgotten, and no other', () => {
    const doubts = new Doubts()
    for (const source of ['Work', 'Old work', 'INBOX']) doubts.believes(`comparing ${source}`, 900, 1_000)
    doubts.forgetUnlisted(new Set(['Old work', 'INBOX']))
    expect([doubts.has('comparing Work'), doubts.count]).toEqual([false, 2])
  })
})

/** Doubts with a clock that the test sets. */
function openDoubts() {
  const clock = { at: 0 }
  const doubts = new Doubts(() => clock.at)
  return {
    doubts,
    loses(lost: number, at: number) {
      clock.at = at
      return doubts.believes('claim', lost, 1_000)
    },
    mustAsk(at: number) {
      clock.at = at
      return doubts.mustAsk('claim')
    },
  }
}
