import { describe, expect, test } from 'vitest'
import {
  planCopySearchSeconds,
  planLookUpSeconds,
  planPauseSeconds,
  planRetry,
  planSendTime,
} from './schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = new Date('2026-03-01T12:00:00Z')
const at = (milliseconds: number) => new Date(NOW.getTime() + milliseconds)

describe('the time of a send', () => {
  test.each([
    ['now', null, 0, 0],
    ['after the time in which it can be undone', null, 30, 30_000],
    ['as scheduled', DAY, 30, DAY],
    ['after the time in which it can be undone, if it is scheduled before', 10_000, 30, 30_000],
    ['now, if it was scheduled for less than a minute ago', -60_000, 0, 0],
    ['in 365 days', 365 * DAY, 0, 365 * DAY],
  ])('is %s', (_, sendAt, undo, expected) => {
    const planned = planSendTime(NOW, sendAt === null ? null : at(sendAt), undo)
    expect(planned).toEqual(at(Math.max(expected, sendAt ?? expected)))
  })

  test.each([
    ['more than a minute ago', -60_001],
    ['more than 365 days ahead', 365 * DAY + 1],
  ])('is refused %s', (_, sendAt) => {
    expect(planSendTime(NOW, at(sendAt), 0)).toMatch(/must be at most/)
  })
})

describe('retries', () => {
  test('come after 1, 5, 15 and 60 minutes, 3, 6, 12 and 24 hours, and the last at 48 hours', () => {
    const gaps: number[] = []
    let now = NOW
    for (let attempts = 1; ; attempts++) {
      const next = planRetry({ now, sendAt: NOW, datedAt: NOW, attempts, retryAfterSeconds: null })
      if (next === null) break
      gaps.push((next.getTime() - now.getTime()) / MINUTE)
      now = next
    }
    expect(gaps).toEqual([1, 5, 15, 60, 180, 360, 720, 1_440, 48 * 60 - (1 + 5 + 15 + 60 + 2_700)])
    expect(now).toEqual(at(48 * HOUR))
  })

  test.each([
    ['a longer wait that the server names counts', 7_200, 2 * HOUR],
    ['a shorter one does not', 5, MINUTE],
    ['a wait of more than a day is cut', 10 * 86_400, DAY],
  ])('%s', (_, retryAfterSeconds, expected) => {
    expect(planRetry({ now: NOW, sendAt: NOW, datedAt: NOW, attempts: 1, retryAfterSeconds })).toEqual(
      at(expected),
    )
  })

  test.each([
    ['at its first attempt, if that came late: it is tried again', 72, 0, MINUTE],
    ['at its first attempt, up to the last one', 96, 47.5, HOUR / 2],
    ['at its first attempt, and end 48 hours later', 96, 48, null],
    ['when it is due, if it was moved after an attempt', 1, 72, DAY],
  ])('begin to count %s', (_, dueHoursAgo, datedHoursAgo, expected) => {
    const [sendAt, datedAt] = [at(-dueHoursAgo * HOUR), at(-datedHoursAgo * HOUR)]
    const planned = planRetry({
      now: NOW,
      sendAt,
      datedAt,
      attempts: datedHoursAgo === 0 ? 1 : 9,
      retryAfterSeconds: null,
    })
    expect(planned).toEqual(expected === null ? null : at(expected))
  })

  test('pauses of an account follow the same schedule', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100].map(count => planPauseSeconds(count, null) / 60)
    expect(pauses).toEqual([1, 5, 15, 60, 180, 360, 720, 1_440, 1_440, 1_440])
    expect(planPauseSeconds(1, 600)).toBe(600)
  })
})

test('looks an unknown outcome up after 5, 15 and 60 seconds, 5, 15 and 30 minutes', () => {
  let seconds = 0
  const times = [0, 1, 2, 3, 4, 5].map(looks => (seconds += planLookUpSeconds(looks)!))
  expect(times).toEqual([5, 15, 60, 300, 900, 1_800])
  expect(planLookUpSeconds(6)).toBe(null)
})

test('searches for a copy twice, and longer where the server was seen to file copies', () => {
  expect([1, 2].map(count => planCopySearchSeconds(count, false))).toEqual([5, null])
  expect([1, 2, 3, 4].map(count => planCopySearchSeconds(count, true))).toEqual([5, 55, 240, null])
})
