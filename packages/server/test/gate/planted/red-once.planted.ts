import { describe, expect, test } from 'vitest'
import { isFirstTime } from './is-first-time.ts'

describe('planted', () => {
  test('is red once', () => {
    const version = process.env['WAXWING_TEST_PG'] ?? '18'
    process.stdout.write(`on PostgreSQL ${version}\n`)
    expect(isFirstTime(`red-once-${version}`)).toBe(false)
  })
})
