import { describe, expect, test } from 'vitest'
import { NotifyTrust } from './notify-trust.ts'

const times = (count: number, act: () => void) => {
  for (let number = 0; number < count; number++) act()
}

describe('the time between passes', () => {
  test('grows with each pass that finds only reported changes, up to its limit', () => {
    const trust = new NotifyTrust()
    const factors = Array.from({ length: 5 }, () => {
      const { passFactor } = trust
      trust.confirmed()
      return passFactor
    })
    expect(factors).toEqual([1, 4, 16, 20, 20])
  })

  test('is short again after a late report, and then grows as before', () => {
    const trust = new NotifyTrust()
    times(3, () => trust.confirmed())
    trust.late()
    expect(trust.passFactor).toBe(1)
    trust.confirmed()
    expect([trust.passFactor, trust.isLost]).toEqual([4, false])
  })

  test('stays short for a server that reports too late again and again', () => {
    const trust = new NotifyTrust()
    times(3, () => {
      trust.confirmed()
      trust.late()
    })
    trust.confirmed()
    expect([trust.passFactor, trust.isLost]).toEqual([1, true])
  })

  test('grows for a server that reports too late by chance, now and then', () => {
    const trust = new NotifyTrust()
    times(5, () => {
      trust.late()
      times(3, () => trust.confirmed())
    })
    expect([trust.passFactor, trust.isLost]).toEqual([20, false])
  })

  test('stays short for a server that did not report a change', () => {
    const trust = new NotifyTrust()
    trust.lose()
    trust.confirmed()
    expect([trust.passFactor, trust.isLost]).toEqual([1, true])
  })
})

test('a server that stops reporting three times gets no more requests', () => {
  const trust = new NotifyTrust()
  times(2, () => trust.overflowed())
  expect(trust.isWorthAsking).toBe(true)
  trust.overflowed()
  expect(trust.isWorthAsking).toBe(false)
})

test('a server that stops reporting now and then gets another request', () => {
  const trust = new NotifyTrust()
  times(5, () => {
    trust.overflowed()
    times(3, () => trust.confirmed())
  })
  expect(trust.isWorthAsking).toBe(true)
})
