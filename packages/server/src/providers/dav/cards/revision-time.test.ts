import { expect, test } from 'vitest'
import { readTime } from './revision-time.ts'

test.each([
  ['20240102T030405Z', '2024-01-02T03:04:05.000Z'],
  ['2024-01-02', '2024-01-02T00:00:00.000Z'],
  ['2024-01-02T03:04:05+02:00', '2024-01-02T01:04:05.000Z'],
  ['yesterday', null],
  ['2024-13-02', null],
  // The database holds years of four digits only.
  ['0000-01-01', null],
  ['0001-01-01T00:00:00+01:00', null],
  ['9999-12-31T23:59:59-01:00', null],
])('reads %s as %s', (text, time) => expect(readTime(text)?.toISOString() ?? null).toBe(time))
