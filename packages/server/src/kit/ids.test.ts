import { describe, expect, test } from 'vitest'
import { isUuid, newId } from './ids.ts'

describe('newId', () => {
  test('returns UUIDs of version 7 that contain the time', () => {
    const before = Date.now()
    const id = newId()

    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isUuid(id)).toBe(true)
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBeGreaterThanOrEqual(before)
  })

  test('ascends strictly, however many ids are created in a millisecond', () => {
    const ids = Array.from({ length: 20_000 }, () => newId())
    expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ''))).toBe(true)
  })

  test('ascends when the clock is set back', () => {
    const first = newId()
    expect(newId(0) > first).toBe(true)
  })
})
