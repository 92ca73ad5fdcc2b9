import { describe, expect, test } from 'vitest'
import { IN_FLIGHT_PER_HOST } from './limits.ts'
import { type DueEndpoint, hostKey, type InFlight, planAhead, planTurns } from './plan-attempts.ts'

const IDLE: InFlight = { endpoints: new Map(), tenants: new Map(), hosts: new Map(), total: 0 }

const endpoint = (endpointId: string, change: Partial<DueEndpoint> = {}): DueEndpoint => ({
  endpointId,
  tenantId: 't',
  host: `${endpointId}.example.com`,
  inFlightMax: 8,
  ...change,
})
const several = (count: number, change: Partial<DueEndpoint> = {}) =>
  Array.from({ length: count }, (_, nth) => endpoint(`${change.tenantId ?? 't'}${nth}`, change))
const alone = { connectionsMax: 200, hasOtherTenants: false }
const sum = (counts: ReadonlyMap<string, number>) =>
  [...counts.values()].reduce((all, count) => all + count, 0)

describe('turns', () => {
  test('give an endpoint as many as it may still have in flight', () => {
    const inFlight = { ...IDLE, endpoints: new Map([['a', 5]]), tenants: new Map([['t', 5]]), total: 5 }
    expect(planTurns([endpoint('a'), endpoint('b')], inFlight, alone)).toEqual(
      new Map([
        ['a', 3],
        ['b', 8],
      ]),
    )
  })

  test('are shared by tenants, and within a tenant by its endpoints', () => {
    const due = [...several(3), endpoint('other', { tenantId: 'u' })]
    const turns = planTurns(due, IDLE, { connectionsMax: 8, hasOtherTenants: false })
    expect(Object.fromEntries(turns)).toEqual({ other: 4, t0: 2, t1: 1, t2: 1 })
  })

  test('leave a tenant a quarter of the connections while another has endpoints', () => {
    expect(sum(planTurns(several(20), IDLE, { connectionsMax: 40, hasOtherTenants: true }))).toBe(10)
    expect(sum(planTurns(several(20), IDLE, { connectionsMax: 40, hasOtherTenants: false }))).toBe(40)
  })

  test('are bounded for a tenant and a host', () => {
    const due = several(4, { host: 'one.example.com', inFlightMax: 64 })
    expect(sum(planTurns(due, IDLE, alone))).toBe(IN_FLIGHT_PER_HOST)
    const hosts = new Map([[hostKey(due[0]!), IN_FLIGHT_PER_HOST]])
    expect(planTurns(due, { ...IDLE, hosts }, alone)).toEqual(new Map())
  })
})

describe('deliveries that are claimed ahead', () => {
  const options = { waiting: () => 0, waitingMax: () => 8 }
  const slots = (counts: Record<string, number>) => new Map(Object.entries(counts))

  test.each([
    ['as many as may wait', { a: 8 }, {}, { a: 8 }],
    ['none of an endpoint of which none may wait', { a: 8 }, { waitingMax: () => 0 }, {}],
    ['none while more than half of them wait', { a: 8 }, { waiting: () => 5 }, {}],
    ['the rest of them when half wait', { a: 8 }, { waiting: () => 4 }, { a: 4 }],
    ['the same while the connections are shared alike', { a: 4, b: 3 }, {}, { a: 8, b: 8 }],
  ])('are %s', (_, counts, change, expected) => {
    const endpoints = Object.keys(counts).map(id => endpoint(id))
    const ahead = planAhead(endpoints, slots(counts), { ...options, ...change })
    expect(Object.fromEntries(ahead ?? [])).toEqual(expected)
  })

  test('would be unfair while an endpoint that could take more has fewer attempts than another', () => {
    const both = [endpoint('a'), endpoint('b')]
    expect(planAhead(both, slots({ a: 6, b: 2 }), options)).toBeNull()
    expect(planAhead(both, slots({ a: 6 }), options)).toBeNull()
    const small = [endpoint('a', { inFlightMax: 64 }), endpoint('b', { inFlightMax: 1 })]
    expect(planAhead(small, slots({ a: 64, b: 1 }), options)).not.toBeNull()
  })
})
