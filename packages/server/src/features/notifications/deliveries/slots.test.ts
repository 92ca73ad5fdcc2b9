import { expect, test } from 'vitest'
import type { Lease } from '../../../processes/lease.ts'
import type { EndpointTarget } from '../webhooks/target-store.ts'
import { ClaimedDeliveries } from './claimed.ts'
import type { ClaimedDelivery } from './claims.ts'
import type { AttemptResult } from './attempt-result.ts'
import { Slots } from './slots.ts'
import type { DueEndpoint } from './plan-attempts.ts'

const CONNECTIONS_MAX = 16

const endpoint = (endpointId: string): DueEndpoint => ({
  endpointId,
  tenantId: 't',
  host: 'example.com',
  inFlightMax: 8,
})

test('claims ahead as much as before when endpoints that were quick have nothing left', () => {
  const claimed = new ClaimedDeliveries()
  const slots = new Slots(claimed, CONNECTIONS_MAX)
  /** Claims a delivery of an endpoint, which answers it quickly. @returns its result, which is to be recorded */
  const answerQuickly = (endpointId: string): AttemptResult => {
    slots.plan([endpoint(endpointId)], false)
    // The fields that only an attempt needs are not read here.
    const delivery = { endpointId, eventId: '1', tenantId: 't' } as ClaimedDelivery
    const lease = { lapsed: new AbortController().signal } as Lease
    claimed.add({ lease, delivery, target: {} as EndpointTarget, host: 'example.com' })
    claimed.take(endpointId)
    claimed.noteAnswer(delivery)
    const result = { delivery, statusCode: 204, durationMilliseconds: 1 } as AttemptResult
    slots.noteAnswer(result)
    return result
  }
  const planned = () => {
    const result = answerQuickly('last')
    const wanted = slots.plan([endpoint('last')], false)
    claimed.forget([result])
    return wanted
  }
  const before = planned()
  expect(before).toEqual(new Map([['last', 16]]))
  for (let nth = 0; nth <= CONNECTIONS_MAX; nth++) claimed.forget([answerQuickly(`gone-${nth}`)])
  expect(planned()).toEqual(before)
})
