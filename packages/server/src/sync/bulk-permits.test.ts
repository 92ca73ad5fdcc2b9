import { describe, expect, test } from 'vitest'
import { BulkPermits, BulkRequest } from './bulk-permits.ts'

const never = new AbortController().signal
const LONG = 60_000

describe('BulkPermits', () => {
  test('let a limited number of accounts work at a time, and then those that wait, in order', async () => {
    const bulkPermits = new BulkPermits(2)
    const order: number[] = []
    let [working, most] = [0, 0]
    await Promise.all(
      [1, 2, 3, 4, 5].map(async number => {
        using _permit = await bulkPermits.acquire(new BulkRequest('a'), LONG, never)
        order.push(number)
        most = Math.max(most, ++working)
        await new Promise(resolve => setImmediate(resolve))
        working--
      }),
    )
    expect(order).toEqual([1, 2, 3, 4, 5])
    expect(most).toBe(2)
  })

  test('give back a permit once, however often it is disposed, and skip abandoned requests', async () => {
    const bulkPermits = new BulkPermits(1)
    const first = await bulkPermits.acquire(new BulkRequest('a'), LONG, never)
    const impatient = new AbortController()
    const abandoned = bulkPermits.acquire(new BulkRequest('a'), LONG, impatient.signal)
    impatient.abort(new Error('enough'))
    await expect(abandoned).rejects.toThrow('enough')
    first?.[Symbol.dispose]()
    first?.[Symbol.dispose]()
    using second = await bulkPermits.acquire(new BulkRequest('a'), LONG, never)
    const third = bulkPermits.acquire(new BulkRequest('a'), LONG, never)
    expect(await Promise.race([third, Promise.resolve('waits')])).toBe('waits')
    second?.[Symbol.dispose]()
    ;(await third)?.[Symbol.dispose]()
  })

  test('keep the position in the queue of a request that waited in vain', async () => {
    const bulkPermits = new BulkPermits(1)
    const first = await bulkPermits.acquire(new BulkRequest('a'), LONG, never)
    const request = new BulkRequest('a')
    expect(await bulkPermits.acquire(request, 1, never)).toBeNull()
    const later = bulkPermits.acquire(new BulkRequest('a'), LONG, never)
    const again = bulkPermits.acquire(request, LONG, never)
    first?.[Symbol.dispose]()
    expect(await Promise.race([again.then(() => 'again'), later.then(() => 'later')])).toBe('again')
    ;(await again)?.[Symbol.dispose]()
    ;(await later)?.[Symbol.dispose]()
  })

  test('give the next permit to the tenant with the fewest, and among equals to the oldest request', async () => {
    const bulkPermits = new BulkPermits(2)
    const order: string[] = []
    const ask = (tenantId: string, name: string) =>
      bulkPermits.acquire(new BulkRequest(tenantId), LONG, never).then(permit => {
        order.push(name)
        return permit
      })
    const held = [await ask('a', 'a1'), await ask('a', 'a2')]
    const asked = [ask('a', 'a3'), ask('a', 'a4'), ask('b', 'b1'), ask('c', 'c1'), ask('b', 'b2')]
    for (const permit of held) permit?.[Symbol.dispose]()
    const [a3, a4, b1, c1, b2] = asked
    for (const permit of [b1, a3, c1, a4, b2]) (await permit)?.[Symbol.dispose]()
    // The second permit went back when its tenant had no other.
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'a4', 'b2'])
  })
})
