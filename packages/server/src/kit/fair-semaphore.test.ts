import { describe, expect, test } from 'vitest'
import { type FairLimits, openFairSemaphore } from './fair-semaphore.ts'

/** Opens a semaphore whose works end when they are told to, and whose time is set. */
function open(limits: Omit<FairLimits, 'now'>) {
  let time = 0
  const semaphore = openFairSemaphore({ ...limits, now: () => time })
  const running: Array<{ name: string; end: () => void }> = []
  return {
    pass: (milliseconds: number) => void (time += milliseconds),
    running: () => running.map(({ name }) => name),
    /** @returns whether the work runs or waits */
    take(party: string, name = party): boolean {
      const taken = semaphore.take(
        party,
        () => new Promise<void>(resolve => running.push({ name, end: resolve })),
      )
      return taken !== null
    },
    async end(name: string) {
      const at = running.findIndex(one => one.name === name)
      for (const { end } of running.splice(at, 1)) end()
      await new Promise(resolve => setImmediate(resolve))
    },
  }
}

describe('a fair semaphore', () => {
  test('lets parties take turns, however much one of them asks for', async () => {
    const { take, end, running } = open({ atOnce: 1 })
    for (const name of ['a1', 'a2', 'a3']) take('a', name)
    take('b')
    take('c')
    const order: string[] = []
    for (let [name] = running(); name !== undefined; [name] = running()) {
      order.push(name)
      await end(name)
    }
    expect(order).toEqual(['a1', 'a2', 'b', 'c', 'a3'])
  })

  test('refuses what waits beyond the share of its party, while others may still wait', () => {
    const { take } = open({ atOnce: 1, waitingMax: 3, waitingOfOneMax: 2 })
    expect(['a', 'a', 'a', 'a'].map(party => take(party))).toEqual([true, true, true, false])
    expect(['b', 'b'].map(party => take(party))).toEqual([true, false])
  })

  test('keeps a permit for parties that have held few lately', async () => {
    const { take, end, running, pass } = open({ atOnce: 2, kept: 1 })
    for (const name of ['a1', 'a2', 'a3', 'a4']) take('a', name)
    take('b', 'b1')
    expect(running()).toEqual(['a1', 'a2'])
    pass(600)
    await end('a1')
    expect(running()).toEqual(['a2', 'b1'])
    // By now the first party has held permits for more than a second.
    await end('b1')
    expect(running()).toEqual(['a2'])
    take('b', 'b2')
    expect(running()).toEqual(['a2', 'b2'])
    await end('a2')
    expect(running()).toEqual(['b2'])
    await end('b2')
    expect(running()).toEqual(['a3'])
    pass(30_000)
    take('c')
    expect(running()).toEqual(['a3', 'c'])
    await end('a3')
    await end('c')
    expect(running()).toEqual(['a4'])
    pass(30_000)
    await end('a4')
    pass(10_000)
    take('a', 'a5')
    take('a', 'a6')
    expect(running()).toEqual(['a5', 'a6'])
  })

  test('gives the permit of a failed work to the next', async () => {
    const semaphore = openFairSemaphore({ atOnce: 1 })
    const failed = semaphore.take('a', () => Promise.reject(new Error('failed')))
    const next = semaphore.take('a', async () => 7)
    await expect(failed).rejects.toThrow('failed')
    expect(await next).toBe(7)
  })
})
