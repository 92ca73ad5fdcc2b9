import { describe, expect, test } from 'vitest'
import {
  addArrived,
  ARRIVED_MAX,
  beginStand,
  isToLook,
  settleBatch,
  type Stand,
} from './body-storing-stand.ts'

const ACCOUNT = { id: 'account', isInitialized: true }
const HOUR = 3600
const ALL = { below: null }

const at = (seconds: number) => 1_800_000_000_000 + seconds * 1000
const begin = (seconds: number, before: Stand | null = null, version = '1') =>
  beginStand(before, { ...ACCOUNT, version }, at(seconds))
const look = (stand: Stand, seconds: number) => isToLook(stand, at(seconds))

/** A stand that has looked at all messages. */
function looked(): Stand {
  return Object.assign(begin(0), { whole: null })
}

/** Lets each look at all messages fail as soon as it begins. @returns the seconds between the looks */
function failAgainAndAgain(stand: Stand, from: number, times: number): number[] {
  const pauses: number[] = []
  let failedAt = from
  for (let seconds = from; pauses.length < times; seconds += 1) {
    if (!look(stand, seconds)) continue
    settleBatch(stand, false, at(seconds))
    pauses.push(seconds - failedAt)
    failedAt = seconds
  }
  return pauses
}

describe('after a batch that could not be stored', () => {
  test('looks at nothing but new mail, and at all messages again after a pause', () => {
    const stand = begin(0)
    expect(look(stand, 0)).toBe(true)
    expect(stand.whole).toEqual(ALL)
    addArrived(stand, ['a'])
    settleBatch(stand, false, at(10))
    expect(look(stand, 39)).toBe(false)
    addArrived(stand, ['b'])
    expect(look(stand, 39)).toBe(true)
    expect(stand).toMatchObject({ arrived: ['b'], whole: null })
    expect(look(stand, 40)).toBe(true)
    expect(stand).toMatchObject({ arrived: [], whole: ALL })
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

test('goes on when the settings were read again and are the same', () => {
  const stand = looked()
  addArrived(stand, ['a'])
  expect(begin(10, stand)).toBe(stand)
  expect(stand).toMatchObject({ arrived: ['a'], whole: null })
})

test('waits for the room that the plan lacked even if the settings have changed', () => {
  const stand = Object.assign(looked(), { neededBytes: 7 })
  expect(begin(10, stand, '2')).toMatchObject({ whole: ALL, neededBytes: 7 })
})

test('looks at all messages each hour', () => {
  const stand = looked()
  expect(look(stand, HOUR)).toBe(false)
  expect(look(stand, HOUR + 1)).toBe(true)
  expect(stand.whole).toEqual(ALL)
})

test('keeps no more new ones while a turn gives some back', () => {
  const stand = looked()
  const ids = Array.from({ length: ARRIVED_MAX + 1 }, (_, nth) => String(nth))
  stand.arrived = [...ids]
  addArrived(stand, ['a', 'b'])
  expect(stand).toMatchObject({ arrived: ids, isBehind: true })
})

test('looks at all messages once new ones that are too many to be kept are stored', () => {
  const stand = looked()
  const ids = Array.from({ length: ARRIVED_MAX + 1 }, (_, nth) => String(nth))
  addArrived(stand, ids)
  expect(look(stand, 0)).toBe(true)
  expect(stand.arrived).toEqual(ids.slice(0, ARRIVED_MAX))
  expect(stand.whole).toBeNull()
  stand.arrived = []
  expect(look(stand, 0)).toBe(true)
  expect(stand).toMatchObject({ whole: ALL, isBehind: false })
})
