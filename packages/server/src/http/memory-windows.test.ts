import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMemoryWindows } from './memory-windows.ts'

const LIMITS: { [name: string]: number } = { tenant: 5, 'key a': 3, 'key b': 4 }
const window = (name: string) => ({ name, limit: LIMITS[name] ?? 0 })

/** Milliseconds that pass, and the key that then sends a request. */
const request = fc.record({
  passes: fc.oneof(fc.nat(1000), fc.nat(70_000)),
  key: fc.constantFrom('key a', 'key b'),
})

describe('the windows in memory', () => {
  test('accept what a list of all accepted requests would, and count on both windows or on neither', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 60 }), requests => {
        let now = Date.UTC(2030, 0, 1, 12, 0, 30)
        const windows = createMemoryWindows({ now: () => now })
        const accepted: { minute: number; names: string[] }[] = []
        for (const { passes, key } of requests) {
          now += passes
          const minute = Math.floor(now / 60_000)
          const names = ['tenant', key]
          const left = names.map(
            name =>
              window(name).limit -
              accepted.filter(one => one.minute === minute && one.names.includes(name)).length,
          )
          const least = Math.min(...left)
          const isAccepted = least > 0
          const ownLeft = left[1] ?? 0
          const resetSeconds = Math.ceil(((minute + 1) * 60_000 - now) / 1000)

          expect(windows.spentSeconds(window(key))).toBe(ownLeft === 0 ? resetSeconds : 0)
          expect(windows.count(names.map(window))).toEqual({
            isAccepted,
            limit: window(names[left.indexOf(least)] ?? '').limit,
            remaining: isAccepted ? least - 1 : 0,
            resetSeconds,
          })
          if (isAccepted) accepted.push({ minute, names })
        }
      }),
      { numRuns: 500 },
    )
  })
})
