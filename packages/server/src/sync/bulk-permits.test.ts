import { describe, expect, test } from 'vitest'
import { Place, Turns } from './bulk-permits.ts'

const never = new AbortController().signal
const LONG = 60_000

describe('Turns', () => {
  test('lets a limited number work at a time, and the next in line follow', async () => {
    const turns = new Turns(2)
    const order: number[] = []
    let [working, most] = [0, 0]
    await Promise.all(
      [1, 2, 3, 4, 5].map(async number => {
        using _turn = await turns.take(new Place('a'), LONG, never)
        order.push(number)
        most = Math.max(most, ++working)
        await new Promise(resolve => setImmediate(resolve))
        working--
      }),
    )
    expect(order).toEqual([1, 2, 3, 4, 5])
    expect(most).toBe(2)
  })

  test('gives back a turn once, however often it is disposed, and skips who gave up', async () => {
    const turns = new Turns(1)
    const first = await turns.take(new Place('a'), LONG, never)
    const impatient = new AbortController()
    const abandoned = turns.take(new Place('a'), LONG, impatient.signal)
    impatient.abort(new Error('enough'))
    await expect(abandoned).rejects.toThrow('enough')
    first?.[Symbol.dispose]()
    first?.[Symbol.dispose]()
    using second = await turns.take(new Place('a'), LONG, never)
    const third = turns.take(new Place('a'), LONG, never)
    expect(await Promise.race([third, Promise.resolve('waits')])).toBe('waits')
    second?.[Symbol.dispose]()
    ;(await third)?.[Symbol.dispose]()
  })

  test('who waited in vain keeps the place in the line', async () => {
    const turns = new Turns(1)
    const first = await turns.take(new Place('a'), LONG, never)
    const place = new Place('a')
    expect(await turns.take(place, 1, never)).toBeNull()
    const later = turns.take(new Place('a'), LONG, never)
    const again = turns.take(place, LONG, never)
    first?.[Symbol.dispose]()
    expect(await Promise.race([again.then(() => 'again'), later.then(() => 'later')])).toBe('again')
    ;(await again)?.[Symbol.dispose]()
    ;(await later)?.[Symbol.dispose]()
  })

  test('gives the next turn to the tenant with the fewest, and among equals to the account that asked first', async () => {
    const turns = new Turns(2)
    const order: string[] = []
    const ask = (tenantId: string, name: string) =>
      turns.take(new Place(tenantId), LONG, never).then(turn => {
        order.push(name)
        return turn
      })
    const held = [await ask('a', 'a1'), await ask('a', 'a2')]
    const asked = [ask('a', 'a3'), ask('a', 'a4'), ask('b', 'b1'), ask('c', 'c1'), ask('b', 'b2')]
    for (const turn of held) turn?.[Symbol.dispose]()
    const [a3, a4, b1, c1, b2] = asked
    for (const turn of [b1, a3, c1, a4, b2]) (await turn)?.[Symbol.dispose]()
    // The second turn went back when its tenant had no other.
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'a4', 'b2'])
  })
})
