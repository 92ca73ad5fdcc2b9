import { describe, expect, test } from 'vitest'
import { Place, Turns } from './turns.ts'

const never = new AbortController().signal
const LONG = 60_000

describe('Turns', () => {
  test('lets a limited number work at a time, and the next in line follow', async () => {
    const turns = new Turns(2)
    const order: number[] = []
    let [working, most] = [0, 0]
    await Promise.all(
      [1, 2, 3, 4, 5].map(async number => {
        using _turn = await turns.take(new Place(), LONG, never)
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
    const first = await turns.take(new Place(), LONG, never)
    const impatient = new AbortController()
    const abandoned = turns.take(new Place(), LONG, impatient.signal)
    impatient.abort(new Error('enough'))
    await expect(abandoned).rejects.toThrow('enough')
    first?.[Symbol.dispose]()
    first?.[Symbol.dispose]()
    using second = await turns.take(new Place(), LONG, never)
    const third = turns.take(new Place(), LONG, never)
    expect(await Promise.race([third, Promise.resolve('waits')])).toBe('waits')
    second?.[Symbol.dispose]()
    ;(await third)?.[Symbol.dispose]()
  })

  test('who waited in vain keeps the place in the line', async () => {
    const turns = new Turns(1)
    const first = await turns.take(new Place(), LONG, never)
    const place = new Place()
    expect(await turns.take(place, 1, never)).toBeNull()
    const later = turns.take(new Place(), LONG, never)
    const again = turns.take(place, LONG, never)
    first?.[Symbol.dispose]()
    expect(await Promise.race([again.then(() => 'again'), later.then(() => 'later')])).toBe('again')
    ;(await again)?.[Symbol.dispose]()
    ;(await later)?.[Symbol.dispose]()
  })
})
