import { describe, expect, test } from 'vitest'
import { type Sharing, TENANT_AT_WORK_MAX, createTenantShares } from './tenant-shares.ts'

function openShares() {
  let time = 0
  const shares = createTenantShares(() => time)
  return {
    pass: (seconds: number) => void (time += seconds * 1000),
    enter: shares.enter,
    /** Begins as many requests of a tenant as may begin, up to a number. */
    fill(tenantId: string, count: number): Sharing[] {
      return Array.from({ length: count }, () => shares.enter(tenantId) ?? []).flat()
    },
  }
}

describe('the share of a tenant in the requests at work', () => {
  test('is half of them while another tenant asks, and has no bound otherwise', () => {
    const { fill, enter, pass } = openShares()
    expect(fill('a', 1000)).toHaveLength(1000)
    const other = enter('b')
    expect(enter('a')).toBeNull()
    expect(fill('b', 1000)).toHaveLength(TENANT_AT_WORK_MAX - 1)
    other?.end()
    pass(61)
    // Others are still at work.
    expect(enter('a')).toBeNull()
  })

  test('has no bound any more when others have not asked for a minute', () => {
    const { fill, enter, pass } = openShares()
    enter('b')?.end()
    expect(fill('a', 200)).toHaveLength(TENANT_AT_WORK_MAX)
    pass(59)
    expect(enter('a')).toBeNull()
    pass(2)
    expect(enter('a')).not.toBeNull()
  })

  test('contains no request that only waits', () => {
    const { fill, enter } = openShares()
    enter('b')
    const [first, second] = fill('a', TENANT_AT_WORK_MAX)
    const resume = first!.rest()
    expect(fill('a', 2)).toHaveLength(1)
    resume()
    resume()
    second!.end()
    second!.end()
    expect(enter('a')).toBeNull()
    first!.end()
    resume()
    expect(fill('a', 2)).toHaveLength(1)
  })
})
