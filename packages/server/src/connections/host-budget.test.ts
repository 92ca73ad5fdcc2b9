import { describe, expect, test } from 'vitest'
import { HostBudget } from './host-budget.ts'

const never = new AbortController().signal

describe('HostBudget', () => {
  test('never grants more connections to a host than its limit while callers come and go', async () => {
    const budget = new HostBudget(3)
    let [held, most] = [0, 0]
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        using _permit = await budget.acquire('mail.example', never)
        most = Math.max(most, ++held)
        await new Promise(resolve => setImmediate(resolve))
        if (index % 7 === 0) await new Promise(resolve => setImmediate(resolve))
        held--
      }),
    )
    expect(most).toBe(3)
    expect(budget.heldCount).toBe(0)
  })

  test('serves waiting callers in the order of asking, and hosts apart from each other', async () => {
    const budget = new HostBudget(1)
    const first = await budget.acquire('a.example', never)
    const served: number[] = []
    const waiting = [1, 2, 3].map(async number => {
      using _permit = await budget.acquire('A.example', never)
      served.push(number)
    })
    using _other = await budget.acquire('b.example', never)
    expect(served).toEqual([])
    first[Symbol.dispose]()
    await Promise.all(waiting)
    expect(served).toEqual([1, 2, 3])
  })

  test('grants a free connection at once, but none that is not free or that others wait for', async () => {
    const budget = new HostBudget(2)
    const first = budget.acquireFree('a.example')
    using second = await budget.acquire('a.example', never)
    let isWanted = false
    second.onWanted(() => (isWanted = true))
    expect([first === null, budget.acquireFree('A.example'), isWanted]).toEqual([false, null, false])
    const waiting = budget.acquire('a.example', never)
    first?.[Symbol.dispose]()
    using _third = await waiting
    expect(budget.acquireFree('a.example')).toBe(null)
  })

  test('notifies holders when others begin to wait', async () => {
    const budget = new HostBudget(1)
    const holder = await budget.acquire('a.example', never)
    let told = 0
    holder.onWanted(() => told++)
    expect(holder.isWanted).toBe(false)
    const waiting = budget.acquire('a.example', never)
    expect([holder.isWanted, told]).toEqual([true, 1])
    holder[Symbol.dispose]()
    expect((await waiting).isWanted).toBe(false)
  })

  test('forgets who gives up waiting', async () => {
    const budget = new HostBudget(1)
    const holder = await budget.acquire('a.example', never)
    const impatient = new AbortController()
    const abandoned = budget.acquire('a.example', impatient.signal)
    impatient.abort(new Error('enough'))
    await expect(abandoned).rejects.toThrow('enough')
    expect(holder.isWanted).toBe(false)
    holder[Symbol.dispose]()
    holder[Symbol.dispose]()
    expect(budget.heldCount).toBe(0)
  })

  test('keeps to its share of the limit: asks for what is too much, the oldest first, and grants what is free', async () => {
    let share = 3
    const budget = new HostBudget(10, limit => Math.min(limit, share))
    const held = await Promise.all([1, 2, 3].map(() => budget.acquire('a.example', never)))
    const told: number[] = []
    for (const [nth, permit] of held.entries()) permit.onWanted(() => told.push(nth))
    share = 1
    budget.reconsider()
    expect(told).toEqual([0, 1])
    expect(held.map(({ isWanted }) => isWanted)).toEqual([true, true, false])
    for (const permit of held.slice(0, 2)) permit[Symbol.dispose]()
    expect(held[2]?.isWanted).toBe(false)

    const waiting = [budget.acquire('a.example', never), budget.acquire('a.example', never)]
    share = 3
    budget.reconsider()
    for (const permit of await Promise.all(waiting)) permit[Symbol.dispose]()
    held[2]?.[Symbol.dispose]()
    expect(budget.heldCount).toBe(0)
  })

  test('grants nothing that a holder gives back while there is too much', async () => {
    let share = 2
    const budget = new HostBudget(2, () => share)
    const [first, second] = await Promise.all([1, 2].map(() => budget.acquire('a.example', never)))
    let isGranted = false
    const waiting = budget.acquire('a.example', never).then(permit => {
      isGranted = true
      return permit
    })
    share = 1
    budget.reconsider()
    first?.[Symbol.dispose]()
    await new Promise(resolve => setImmediate(resolve))
    expect([isGranted, budget.heldCount]).toEqual([false, 1])
    second?.[Symbol.dispose]()
    using _third = await waiting
    expect(budget.heldCount).toBe(1)
  })
})
