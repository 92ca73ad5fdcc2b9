import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DueAccount, planTurns, type Running, SENDS_PER_ACCOUNT, SENDS_PER_HOST } from './turns.ts'

const IDLE: Running = { accounts: new Map(), hosts: new Map(), total: 0 }
const account = (accountId: string, change: Partial<DueAccount> = {}): DueAccount => ({
  accountId,
  tenantId: 't',
  host: 'mail.example',
  due: 100,
  isDoubted: false,
  servedAt: 0,
  ...change,
})

test('lets tenants take turns, and accounts that waited longest go first', () => {
  const accounts = [
    account('a1', { tenantId: 'a', host: 'a', servedAt: 2 }),
    account('a2', { tenantId: 'a', host: 'a', servedAt: 1 }),
    account('b1', { tenantId: 'b', host: 'b' }),
  ]
  expect([...planTurns(accounts, IDLE, 4)].toSorted()).toEqual([
    ['a1', 1],
    ['a2', 1],
    ['b1', 2],
  ])
  expect([...planTurns(accounts, IDLE, 2)].toSorted()).toEqual([
    ['a2', 1],
    ['b1', 1],
  ])
})

test('gives an account three at once, a host ten, and a doubted account one', () => {
  const many = Array.from({ length: 20 }, (_, index) => account(`a${index}`))
  const total = (turns: Map<string, number>) => [...turns.values()].reduce((sum, count) => sum + count, 0)
  expect(planTurns([account('a')], IDLE, 50)).toEqual(new Map([['a', SENDS_PER_ACCOUNT]]))
  expect(total(planTurns(many, IDLE, 50))).toBe(SENDS_PER_HOST)
  expect(planTurns([account('a', { isDoubted: true })], IDLE, 50)).toEqual(new Map([['a', 1]]))
})

test('never gives more than is due, free at the account, free at the host, and free in all', () => {
  const accounts = fc.array(
    fc.record({
      tenant: fc.nat(3),
      host: fc.nat(3),
      due: fc.nat(8),
      isDoubted: fc.boolean(),
      servedAt: fc.nat(9),
      running: fc.nat(4),
    }),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(accounts, fc.nat(60), (given, totalMax) => {
      const due = given.map((one, index) =>
        account(`${index}`, { ...one, tenantId: `${one.tenant}`, host: `${one.host}` }),
      )
      const hosts = new Map<string, number>()
      for (const { host, running } of given) hosts.set(`${host}`, (hosts.get(`${host}`) ?? 0) + running)
      const total = given.reduce((sum, { running }) => sum + running, 0)
      const running = {
        accounts: new Map(given.map((one, index) => [`${index}`, one.running])),
        hosts,
        total,
      }
      const turns = planTurns(due, running, totalMax)
      const taken = new Map(hosts)
      let sum = total
      for (const [id, count] of turns) {
        const one = due[Number(id)]!
        expect(count).toBeLessThanOrEqual(one.due)
        expect(count + running.accounts.get(id)!).toBeLessThanOrEqual(one.isDoubted ? 1 : SENDS_PER_ACCOUNT)
        taken.set(one.host, (taken.get(one.host) ?? 0) + count)
        expect(taken.get(one.host)).toBeLessThanOrEqual(SENDS_PER_HOST)
        sum += count
      }
      if (turns.size > 0) expect(sum).toBeLessThanOrEqual(totalMax)
      // Nobody is left out for whom there is room.
      for (const one of due) {
        const own = (running.accounts.get(one.accountId) ?? 0) + (turns.get(one.accountId) ?? 0)
        const hasRoom =
          own < (one.isDoubted ? 1 : SENDS_PER_ACCOUNT) &&
          (taken.get(one.host) ?? 0) < SENDS_PER_HOST &&
          sum < totalMax
        if (hasRoom) expect(turns.get(one.accountId) ?? 0).toBe(one.due)
      }
    }),
  )
})
