import { describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/wait-until.ts'
import { Ramp } from './ramp.ts'

const never = new AbortController().signal
const AT_ONCE = 10

describe('Ramp', () => {
  test('lets ten connections to a host be made at a time, and others beside them', async () => {
    const ramp = new Ramp(10_000)
    const begun: Disposable[] = []
    for (let nth = 0; nth < 2 * AT_ONCE; nth++) void ramp.begin('a.test', never).then(one => begun.push(one))
    await waitUntil('the first', () => Promise.resolve(begun.length === AT_ONCE))
    await ramp.begin('b.test', never)
    expect(begun).toHaveLength(AT_ONCE)
    for (const one of begun) {
      one[Symbol.dispose]()
      one[Symbol.dispose]()
    }
    await waitUntil('the rest', () => Promise.resolve(begun.length === 2 * AT_ONCE))
  })

  test('begins so many a second in all', async () => {
    const ramp = new Ramp(100)
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: 21 }, (_, nth) => ramp.begin(`${nth}.test`, never)))
    expect(performance.now() - startedAt).toBeGreaterThan(180)
  })

  test('passes on the place of who gives up, while waiting for the host or for the time', async () => {
    const ramp = new Ramp(20)
    const held = await Promise.all(Array.from({ length: AT_ONCE }, () => ramp.begin('a.test', never)))
    const impatient = new AbortController()
    const given = [ramp.begin('a.test', impatient.signal), ramp.begin('b.test', impatient.signal)]
    const next = ramp.begin('a.test', never)
    impatient.abort(new Error('enough'))
    await Promise.all(given.map(one => expect(one).rejects.toThrow('enough')))
    held[0]?.[Symbol.dispose]()
    await next
    // All ten places of the other host are free again.
    await Promise.all(Array.from({ length: AT_ONCE }, () => ramp.begin('b.test', never)))
  })
})
