import { describe, expect, test } from 'vitest'
import { beginLook, settleBatch, type Stand } from './body-storing-stand.ts'

const ACCOUNT = { id: 'account', tenant_id: 'tenant', version: '1' }
const HOUR = 3600
const ALL = { since: null, below: null }

const at = (seconds: number) => 1_800_000_000_000 + seconds * 1000
const begin = (seconds: number, before?: Stand, version = '1') =>
  beginLook(before, { ...ACCOUNT, version }, at(seconds))

/** Lets each look at all messages fail as soon as it begins. @returns the seconds between the looks */
function failAgainAndAgain(stand: Stand, from: number, times: number): number[] {
  const pauses: number[] = []
  let failedAt = from
  for (let seconds = from; pauses.length < times; seconds += 1) {
    begin(seconds, stand)
    if (stand.whole === null) continue
    settleBatch(stand, false, at(seconds))
    pauses.push(seconds - failedAt)
    failedAt = seconds
  }
  return pauses
}

describe('after a batch that could not be stored', () => {
  test('looks at nothing, and at all messages again after a pause', () => {
    const stand = begin(0)
    expect(stand.whole).toEqual(ALL)
    begin(10, stand)
    settleBatch(stand, false, at(10))
    expect(stand).toMatchObject({ news: null, whole: null })
    expect(begin(39, stand).whole).toBeNull()
    // New mail is tried meanwhile.
    expect(stand.news).not.toBeNull()
    expect(begin(40, stand).whole).toEqual(ALL)
  })

  test('doubles the pause with each failure, up to an hour', () => {
    const stand = begin(0)
    settleBatch(stand, false, at(0))
    // Another batch that was being stored at the same time.
    settleBatch(stand, false, at(0))
    const pauses = failAgainAndAgain(stand, 0, 9)
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1920, HOUR, HOUR])
  })

  test('shortens the pause after a success or a change of the account', () => {
    const stand = begin(0)
    settleBatch(stand, false, at(0))
    failAgainAndAgain(stand, 0, 7)
    settleBatch(stand, true, at(5000))
    expect(failAgainAndAgain(stand, 5000, 3)).toEqual([30, 30, 60])
    expect(begin(6000, stand, '2')).toMatchObject({ whole: ALL, retryAt: null, retrySeconds: 30 })
  })
})

test('looks at all messages each hour, and each time at mail since five minutes before the last look', () => {
  const stand = begin(0)
  expect(stand.news).toBeNull()
  stand.whole = null
  expect(begin(HOUR, stand)).toMatchObject({ whole: null, news: { since: expect.any(String), below: null } })
  const { since } = stand.news!
  // A look that did not reach its end continues.
  expect(begin(HOUR + 600, stand).news).toEqual({ since, below: null })
  expect(stand.whole).toEqual(ALL)
  stand.news = null
  expect(begin(HOUR + 601, stand).news!.since! > since!).toBe(true)
})
