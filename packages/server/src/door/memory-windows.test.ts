import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import { Refusal } from '../features/refuse.ts'
import { createMemoryWindows } from './memory-windows.ts'
import { countCall, refuseSpent } from './rate-windows.ts'

const LIMITS: { [name: string]: number } = { tenant: 5, 'key a': 3, 'key b': 4 }
const window = (name: string) => ({ name, limit: LIMITS[name] ?? 0 })

/** Milliseconds that pass, and the key that then sends a request. */
const request = fc.record({
  passes: fc.oneof(fc.nat(1000), fc.nat(70_000)),
  key: fc.constantFrom('key a', 'key b'),
})

describe('the windows in memory', () => {
  test('accept what a list of all accepted requests would accept, and count on both windows or neither', () => {
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

describe('200 clients at the edge of a window', () => {
  const CLIENTS = 200
  const EDGES = 100
  const PER_TENANT = 57
  const PER_KEY = 11
  const identities = Array.from({ length: 15 }, (_, nth): Identity => ({
    tenantId: 'one',
    credential: { kind: 'api_key', id: `key ${nth}`, scopes: [], accountIds: null },
    rates: { perTenant: PER_TENANT, perCredential: PER_KEY },
  }))

  test('are accepted up to the limit on each side, and a refused one spends nothing', async () => {
    let now = Date.UTC(2030, 0, 1, 12, 0, 59, 990)
    const windows = createMemoryWindows({ now: () => now })
    /** Checks as the door does. Between the two checks other requests are counted, and the minute may end. */
    async function ask(client: number) {
      // Half of the clients use one key, whose own window is spent first.
      const identity = identities[client % 2 === 0 ? 0 : client % identities.length]!
      try {
        refuseSpent(windows, identity)
        await new Promise(resolve => setImmediate(resolve))
        const minute = Math.floor(now / 60_000)
        const count = await countCall(windows, identity)
        return count?.isAccepted ? { minute, key: identity.credential.id } : null
      } catch (error) {
        if (error instanceof Refusal && error.reason === 'rate_limited') return null
        throw error
      }
    }

    for (let edge = 0; edge < EDGES; edge += 1) {
      const before = Math.floor(now / 60_000)
      const early = Array.from({ length: CLIENTS }, (_, client) => ask(client))
      await new Promise(resolve => setImmediate(resolve))
      // These pass the first check before the minute ends, and the second one after it.
      const late = Array.from({ length: CLIENTS }, (_, client) => ask(client))
      now += 20
      const accepted = (await Promise.all([...early, ...late])).filter(one => one !== null)

      for (const minute of [before, before + 1])
        expect(accepted.filter(one => one.minute === minute)).toHaveLength(PER_TENANT)
      for (const { credential } of identities) {
        const spent = accepted.filter(one => one.minute === before + 1 && one.key === credential.id).length
        expect(spent).toBeLessThanOrEqual(PER_KEY)
        const left = windows.count([{ name: `credential:${credential.id}`, limit: PER_KEY + 1 }])
        expect(left).toMatchObject({ isAccepted: true, remaining: PER_KEY - spent })
      }
      now += 2 * 60_000 - 20
    }
  })
})
