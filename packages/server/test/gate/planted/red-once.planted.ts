import { describe, expect, test } from 'vitest'
import { isFirstTime } from './is-first-time.ts'

describe('planted', () => {
  test('is red once', () => {
    process.stdout.write(`on PostgreSQL ${process.env['WAXWING_TEST_PG']}\n`)
    expect(isFirstTime('red-once')).toBe(false)
  })
})
