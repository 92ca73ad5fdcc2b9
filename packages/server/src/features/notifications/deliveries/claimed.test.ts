import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Lease } from '../../../processes/lease.ts'
import type { EndpointTarget } from '../webhooks/target-store.ts'
import { ClaimedDeliveries } from './claimed.ts'
import type { ClaimedDelivery } from './claims.ts'
import { AHEAD_MILLISECONDS_MAX } from './limits.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const WAYS: Array<[string, (lapse: () => void) => unknown]> = [
  ['too long', () => vi.advanceTimersByTime(AHEAD_MILLISECONDS_MAX + 1)],
  ['under a lease that has lapsed', lapse => lapse()],
]

test.each(WAYS)('gives nothing to be posted that has waited %s', (_, pass) => {
  const claimed = new ClaimedDeliveries()
  const lapsing = new AbortController()
  const lease = { lapsed: lapsing.signal } as Lease
  for (const eventId of ['1', '2', '3']) {
    // The fields that only an attempt needs are not read here.
    const delivery = { endpointId: 'e', eventId, tenantId: 't' } as ClaimedDelivery
    claimed.add({ lease, delivery, target: {} as EndpointTarget, host: 'example.com' })
  }
  expect(claimed.take('e')?.delivery.eventId).toBe('1')
  expect(claimed.listStale()).toEqual([])
  pass(() => lapsing.abort())
  expect(claimed.take('e')).toBeNull()
  expect(claimed.listStale()).toEqual(['e'])
  expect(claimed.drop('e')).toBe(true)
  // The one that is posted.
  expect(claimed.all.map(({ eventId }) => eventId)).toEqual(['1'])
})
