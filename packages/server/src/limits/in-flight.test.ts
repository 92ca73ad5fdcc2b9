import fc from '../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { IN_FLIGHT_MAX, createInFlight } from './in-flight.ts'

describe('the count of requests in flight', () => {
  test('lets 16 of a credential begin, and the next one when one of them has ended', () => {
    const { enter } = createInFlight()
    const begun = Array.from({ length: 17 }, () => enter('a'))
    expect(begun.map(end => end !== null)).toEqual([...Array.from({ length: 16 }, () => true), false])
    expect(enter('b')).not.toBeNull()
    begun[0]?.()
    expect([enter('a'), enter('a')]).toEqual([expect.any(Function), null])
  })

  test('counts each request once, however often its end is called', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ enter: fc.constantFrom('a', 'b') }) },
      { weight: 2, arbitrary: fc.record({ leave: fc.nat(200) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const inFlight = createInFlight()
        const entered: { key: string; leave: () => void; isGone: boolean }[] = []
        const under = (key: string) => entered.filter(one => one.key === key && !one.isGone).length
        for (const next of steps) {
          if ('enter' in next) {
            const isFull = under(next.enter) >= IN_FLIGHT_MAX
            const leave = inFlight.enter(next.enter)
            expect(leave === null).toBe(isFull)
            if (leave) entered.push({ key: next.enter, leave, isGone: false })
          } else {
            const one = entered[next.leave % Math.max(1, entered.length)]
            one?.leave()
            if (one) one.isGone = true
          }
          expect(inFlight.total).toBe(under('a') + under('b'))
        }
      }),
      { numRuns: 200 },
    )
  })
})
