import { describe, expect, test } from 'vitest'
import { readDate } from './date.ts'

describe('readDate', () => {
  test.each([
    ['Mon, 1 Jan 2024 10:00:00 +0100', '2024-01-01T09:00:00.000Z'],
    ['1 Jan 2024 10:00 -0530 (somewhere)', '2024-01-01T15:30:00.000Z'],
    ['21-Nov-2026 01:42:25 +0000', '2026-11-21T01:42:25.000Z'],
    [' 1-Feb-2026 01:42:25 +0000', '2026-02-01T01:42:25.000Z'],
    ['Mon, 01 Jan 24 10:00:00 GMT', '2024-01-01T10:00:00.000Z'],
    ['Fri, 01 Jan 99 10:00:00 EST', '1999-01-01T15:00:00.000Z'],
    ['Thu,  4 January 2024 9:05:07 PDT', '2024-01-04T16:05:07.000Z'],
    ['Mon, 1 Jan 2024 10:00:60 Z', '2024-01-01T10:01:00.000Z'],
    ['2024-01-01T10:00:00Z', '2024-01-01T10:00:00.000Z'],
    ['Mon, 1 Jan 2999 10:00:00 +0000', '2999-01-01T10:00:00.000Z'],
  ])('reads %j', (field, expected) => {
    expect(readDate(field)?.toISOString()).toBe(expected)
  })

  test.each([
    '',
    'yesterday',
    '32 Jan 2024 10:00:00 +0000',
    '1 Foo 2024 10:00:00 +0000',
    '1 Jan 2024 99:00:00 +0000',
    '1 Jan 0 1:1:1',
    '('.repeat(300),
  ])('finds no time in %j', field => {
    expect(readDate(field)).toBeNull()
  })
})
