import fc from '../../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import {
  countRunning,
  type DueAccount,
  planShares,
  RESERVED_PLACES,
  type Running,
  type RunningSend,
  SENDS_AT_ONCE,
  SENDS_PER_ACCOUNT,
  SENDS_PER_HOST,
  SENDS_PER_TENANT,
} from './send-shares.ts'

const IDLE: Running = {
  tenants: new Map(),
  accounts: new Map(),
  connected: new Map(),
  hosts: new Map(),
  total: 0,
  hanging: new Set(),
}
/** The state in which `count` places are free, and the taken ones belong to no account of the test. */
const withFree = (count: number): Running => ({ ...IDLE, total: SENDS_AT_ONCE - count })
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
  expect([...planShares(accounts, withFree(RESERVED_PLACES + 4))].toSorted()).toEqual([
    ['a1', 1],
    ['a2', 1],
    ['b1', 2],
  ])
  expect([...planShares(accounts, withFree(RESERVED_PLACES + 2))].toSorted()).toEqual([
    ['a2', 1],
    ['b1', 1],
  ])
})

test('gives an account three at once, a host ten, and a doubted account one', () => {
  const many = Array.from({ length: 20 }, (_, index) => account(`a${index}`))
  const total = (planned: Map<string, number>) => [...planned.values()].reduce((sum, count) => sum + count, 0)
  expect(planShares([account('a')], IDLE)).toEqual(new Map([['a', SENDS_PER_ACCOUNT]]))
  expect(total(planShares(many, IDLE))).toBe(SENDS_PER_HOST)
  expect(planShares([account('a', { isDoubted: true })], IDLE)).toEqual(new Map([['a', 1]]))
})

test('gives the place of a free connection to its account, although others have waited longer', () => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const accounts = ids.map(id => account(id, { servedAt: id === 'c' ? 9 : 1 }))
  const running = {
    ...IDLE,
    tenants: new Map([['t', 10]]),
    accounts: new Map(ids.map(id => [id, 2])),
    connected: new Map(ids.map(id => [id, id === 'c' ? 1 : 2])),
    hosts: new Map([['mail.example', 9]]),
    total: 10,
  }
  expect(planShares(accounts, running)).toEqual(new Map([['c', 1]]))
})

test('leaves room for others, however many servers of one tenant are slow', () => {
  const many = Array.from({ length: 200 }, (_, index) => account(`a${index}`, { host: `${index}` }))
  const running = { ...IDLE, tenants: new Map([['t', 20]]), total: 20 }
  const planned = planShares([...many, account('b', { tenantId: 'u' })], running)
  expect(planned.get('b')).toBe(SENDS_PER_ACCOUNT)
  planned.delete('b')
  expect([...planned.values()].reduce((sum, count) => sum + count, 0)).toBe(SENDS_PER_TENANT - 20)
})

describe('of the last places', () => {
  const accounts = [account('a1', { tenantId: 'a', host: 'a' }), account('b1', { tenantId: 'b', host: 'b' })]

  test('each goes to a tenant that has none', () => {
    const running = { ...withFree(RESERVED_PLACES), tenants: new Map([['a', 1]]) }
    expect(planShares(accounts, running)).toEqual(new Map([['b1', 1]]))
    expect(planShares(accounts, { ...withFree(1), tenants: running.tenants })).toEqual(new Map([['b1', 1]]))
  })

  test('none is needed by tenants that hold fewer places', () => {
    const running = { ...withFree(RESERVED_PLACES + 1), tenants: new Map([['a', 1]]) }
    expect([...planShares(accounts, running).keys()]).toEqual(['a1', 'b1'])
  })
})

describe('an account with a message that hangs', () => {
  const send = (accountId: string, change: Partial<RunningSend> = {}): RunningSend => ({
    tenantId: 't',
    accountId,
    host: 'mail.example',
    isHanging: false,
    isOver: false,
    ...change,
  })
  const hung = send('a', { isHanging: true })

  test('keeps one place for all that hang, and its connections', () => {
    const running = countRunning([hung, hung, send('a'), send('b', { isOver: true }), send('b')])
    expect(running).toEqual({
      tenants: new Map([['t', 4]]),
      accounts: new Map([
        ['a', 2],
        ['b', 2],
      ]),
      total: 4,
      connected: new Map([
        ['a', 3],
        ['b', 1],
      ]),
      hosts: new Map([['mail.example', 4]]),
      hanging: new Set(['a']),
    })
  })

  test('gets no other place, and its tenant goes on with the others', () => {
    const accounts = [account('a'), account('b', { host: 'other.example' })]
    expect(planShares(accounts, countRunning([hung]))).toEqual(new Map([['b', SENDS_PER_ACCOUNT]]))
  })
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
      isHanging: fc.boolean(),
    }),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(accounts, fc.nat(60), (given, others) => {
      const due = given.map((one, index) =>
        account(`${index}`, { ...one, tenantId: `${one.tenant}`, host: `${one.host}` }),
      )
      const hosts = new Map<string, number>()
      for (const { host, running } of given) hosts.set(`${host}`, (hosts.get(`${host}`) ?? 0) + running)
      const total = given.reduce((sum, { running }) => sum + running, others)
      const tenants = new Map<string, number>()
      for (const { tenant, running } of given)
        tenants.set(`${tenant}`, (tenants.get(`${tenant}`) ?? 0) + running)
      const running = {
        tenants,
        accounts: new Map(given.map((one, index) => [`${index}`, one.running])),
        connected: new Map(given.map((one, index) => [`${index}`, Math.floor(one.running / 2)])),
        hosts,
        total,
        hanging: new Set(given.flatMap(({ isHanging }, index) => (isHanging ? [`${index}`] : []))),
      }
      const planned = planShares(due, running)
      const taken = new Map(hosts)
      const shares = new Map(tenants)
      let sum = total
      for (const [id, count] of planned) {
        const one = due[Number(id)]!
        expect(count).toBeLessThanOrEqual(one.due)
        expect(running.hanging).not.toContain(id)
        expect(count + running.accounts.get(id)!).toBeLessThanOrEqual(one.isDoubted ? 1 : SENDS_PER_ACCOUNT)
        taken.set(one.host, (taken.get(one.host) ?? 0) + count)
        shares.set(one.tenantId, (shares.get(one.tenantId) ?? 0) + count)
        expect(taken.get(one.host)).toBeLessThanOrEqual(SENDS_PER_HOST)
        sum += count
      }
      if (planned.size > 0) expect(sum).toBeLessThanOrEqual(SENDS_AT_ONCE)
      // No account is left out for which there is room.
      for (const one of due) {
        const own = (running.accounts.get(one.accountId) ?? 0) + (planned.get(one.accountId) ?? 0)
        const share = shares.get(one.tenantId) ?? 0
        const hasRoom =
          !running.hanging.has(one.accountId) &&
          own < (one.isDoubted ? 1 : SENDS_PER_ACCOUNT) &&
          (taken.get(one.host) ?? 0) < SENDS_PER_HOST &&
          share < SENDS_PER_TENANT &&
          sum < SENDS_AT_ONCE - (share > 0 ? RESERVED_PLACES : 0)
        if (hasRoom) expect(planned.get(one.accountId) ?? 0).toBe(one.due)
      }
    }),
  )
})
