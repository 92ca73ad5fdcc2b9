import { describe, expect, test } from 'vitest'
import { Suspicions } from './suspicions.ts'

const UIDS = Array.from({ length: 500 }, (_, index) => index + 1)

/** Fetches everything over connections that die whenever one of `poison` is fetched. */
function readAll(suspicions: Suspicions, poison: ReadonlySet<number>) {
  const read = new Set<number>()
  const givenUp = new Set<number>()
  let connections = 0
  for (let isDead = true; isDead && connections < 100; connections++) {
    isDead = false
    const wanted = UIDS.filter(uid => !givenUp.has(uid))
    const plan = suspicions.plan('INBOX', 1, wanted)
    for (const uid of plan.poison) givenUp.add(uid)
    for (const group of plan.groups) {
      if (group.some(uid => poison.has(uid))) {
        suspicions.accuse('INBOX', 1, group)
        isDead = true
        break
      }
      for (const uid of group) read.add(uid)
      suspicions.clear('INBOX', 1, group)
    }
    suspicions.clear('INBOX', 1, plan.poison)
  }
  return { read, givenUp, connections }
}

describe('Suspicions', () => {
  test.each([[[1]], [[500]], [[250]], [[3, 4, 499]]])('finds %j among five hundred', poison => {
    const { read, givenUp, connections } = readAll(new Suspicions(), new Set(poison))

    expect([...givenUp].toSorted((a, b) => a - b)).toEqual(poison)
    expect(read.size).toBe(500 - poison.length)
    expect(connections).toBeLessThanOrEqual(6 * poison.length + 1)
  })

  test('does not give up a message over which one connection died', () => {
    const suspicions = new Suspicions()
    suspicions.accuse('INBOX', 1, [7])
    expect(suspicions.plan('INBOX', 1, [6, 7, 8])).toEqual({ groups: [[6], [7], [8]], poison: [] })
    suspicions.clear('INBOX', 1, [6])
    suspicions.accuse('INBOX', 1, [7])
    expect(suspicions.plan('INBOX', 1, [6, 7, 8]).poison).toEqual([7])
  })

  test('forgets its suspicions if the mailbox was renumbered, and keeps them by mailbox', () => {
    const suspicions = new Suspicions()
    suspicions.accuse('INBOX', 1, [7])
    expect(suspicions.plan('INBOX', 2, [6, 7])).toEqual({ groups: [[6, 7]], poison: [] })
    expect(suspicions.plan('Sent', 1, [6, 7])).toEqual({ groups: [[6, 7]], poison: [] })
  })
})
