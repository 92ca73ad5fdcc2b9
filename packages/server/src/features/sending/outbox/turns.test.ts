import fc from '../../../../test/property.ts'
import { expect, test } from 'vitest'
import {
  type DueAccount,
  planTurns,
  type Running,
  SENDS_AT_ONCE,
  SENDS_PER_ACCOUNT,
  SENDS_PER_HOST,
  SENDS_PER_TENANT,
} from './turns.ts'

const IDLE: Running = {
  tenants: new Map(),
  accounts: new Map(),
  connected: new Map(),
  hosts: new Map(),
  total: 0,
}
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

test('gives the place of a free connection to its account, although others have waited longer', () => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const accounts = ids.map(id => account(id, { servedAt: id === 'c' ? 9 : 1 }))
  const running = {
    tenants: new Map([['t', 10]]),
    accounts: new Map(ids.map(id => [id, 2])),
    connected: new Map(ids.map(id => [id, id === 'c' ? 1 : 2])),
    hosts: new Map([['mail.example', 9]]),
    total: 10,
  }
  expect(planTurns(accounts, running, SENDS_AT_ONCE)).toEqual(new Map([['c', 1]]))
})

test('leaves room for others, however many servers of one tenant are slow', () => {
  const many = Array.from({ length: 200 }, (_, index) => account(`a${index}`, { host: `${index}` }))
  const running = { ...IDLE, tenants: new Map([['t', 20]]), total: 20 }
  const turns = planTurns([...many, account('b', { tenantId: 'u' })], running, SENDS_AT_ONCE)
  expect(turns.get('b')).toBe(SENDS_PER_ACCOUNT)
  turns.delete('b')
  expect([...turns.values()].reduce((sum, count) => sum + count, 0)).toBe(SENDS_PER_TENANT - 20)
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
      const tenants = new Map<string, number>()
      for (const { tenant, running } of given)
        tenants.set(`${tenant}`, (tenants.get(`${tenant}`) ?? 0) + running)
      const running = {
        tenants,
        accounts: new Map(given.map((one, index) => [`${index}`, one.running])),
        connected: new Map(given.map((one, index) => [`${index}`, Math.floor(one.running / 2)])),
        hosts,
        total,
      }
      const turns = planTurns(due, running, totalMax)
      const taken = new Map(hosts)
      const shares = new Map(tenants)
      let sum = total
      for (const [id, count] of turns) {
        const one = due[Number(id)]!
        expect(count).toBeLessThanOrEqual(one.due)
        expect(count + running.accounts.get(id)!).toBeLessThanOrEqual(one.isDoubted ? 1 : SENDS_PER_ACCOUNT)
        taken.set(one.host, (taken.get(one.host) ?? 0) + count)
        shares.set(one.tenantId, (shares.get(one.tenantId) ?? 0) + count)
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
          (shares.get(one.tenantId) ?? 0) < SENDS_PER_TENANT &&
          sum < totalMax
        if (hasRoom) expect(turns.get(one.accountId) ?? 0).toBe(one.due)
      }
    }),
  )
})
