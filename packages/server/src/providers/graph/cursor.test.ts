import { expect, test } from 'vitest'
import {
  FIRST_POSITION,
  freshCursor,
  isComplete,
  isSince,
  narrowCursor,
  readCursor,
  walkAgain,
  walkedSince,
} from './cursor.ts'
import { nextPosition } from './list-folder.ts'

const AT = new Date('2024-05-01T10:00:00Z')
const state = { total: 10, unread: 1, modifiedAt: 5, mark: 'm' }
const followed = { ...freshCursor(AT, state, 7), stage: 'follow' as const, link: 'x', listing: null }
const DAY_MS = 86_400_000

test('is read again from its JSON, and not from another version', () => {
  expect(readCursor(JSON.parse(JSON.stringify(followed)))).toEqual(followed)
  expect(readCursor({ ...followed, version: 2 })).toBeNull()
  expect(readCursor(null)).toBeNull()
})

test('is complete with the whole window, and nothing left to list or to walk through', () => {
  const later = new Date(AT.getTime() + DAY_MS)
  expect(isComplete(followed, AT)).toBe(true)
  expect(isComplete(followed, later)).toBe(true)
  expect(isComplete(followed, new Date(AT.getTime() - 1))).toBe(false)
  expect(isComplete(followed, null)).toBe(false)
  expect(isComplete({ ...followed, listedSince: null }, null)).toBe(true)
  expect(isComplete(walkAgain(followed), AT)).toBe(false)
  expect(isComplete(freshCursor(AT, state, 7), AT)).toBe(false)
  expect(isComplete(narrowCursor(followed, later), AT)).toBe(false)
})

test('has the newest messages of a large folder read before it is walked through', () => {
  expect(freshCursor(null, { ...state, total: 2_501 }, 0).stage).toBe('newest')
  expect(freshCursor(null, { ...state, total: 2_500 }, 0).stage).toBe('walk')
})

test('walks through what was listed, within the window', () => {
  const listing = { ...FIRST_POSITION, since: null, isWidened: false, listed: 0, total: null }
  expect(walkedSince(followed, null)).toBe(AT.getTime())
  expect(walkedSince({ ...followed, listing: { ...listing, until: AT.getTime() + 5 } }, AT)).toBe(
    AT.getTime() + 5,
  )
  const unlisted = walkedSince({ ...followed, listing }, AT)
  expect(isSince(AT.getTime(), unlisted)).toBe(false)
  expect(isSince(null, unlisted)).toBe(false)
  expect(isSince(AT.getTime(), AT.getTime() + 999)).toBe(true)
  expect(isSince(AT.getTime(), AT.getTime() + 1_000)).toBe(false)
})

const item = (id: string, second: number) => ({ id, receivedDateTime: AT.getTime() - second * 1_000 })

test('goes on behind the last second of a page, and within a second by the link', () => {
  const next = { '@odata.nextLink': 'link' }
  const page = { value: [item('a', 0), item('b', 1), item('c', 1)], ...next }
  expect(nextPosition(page, FIRST_POSITION)).toEqual({
    until: AT.getTime() - 1_000,
    at: ['b', 'c'],
    link: null,
  })
  const second = { until: AT.getTime() - 1_000, at: ['b'], link: null }
  expect(nextPosition({ value: [item('b', 1), item('c', 1)], ...next }, second)).toEqual({
    ...second,
    link: 'link',
  })
  // A list that does not go on in time is read on by its link.
  expect(nextPosition({ value: [item('d', 0), item('e', 1)], ...next }, second)).toEqual({
    ...second,
    link: 'link',
  })
  expect(nextPosition({ value: [item('a', 0)] }, FIRST_POSITION)).toBeNull()
})
