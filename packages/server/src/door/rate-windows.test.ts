import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type TestDoor, useTestDoors } from '../../test/use-doors.ts'

const { openDoor } = useTestDoors()

const CLIENTS = 200
const WINDOWS = 15
const LIMIT = 37

const limitHeaders = ({ headers }: Response) =>
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map(name => headers.get(name))

/** Stops the clock some seconds before the end of a minute, so that the window of a test is certain. */
function standBeforeMinuteEnd(door: TestDoor, seconds: number) {
  door.stopClock()
  door.pass(60 - ((door.clock.now() / 1000) % 60) + 60 - seconds)
}

const ask = (door: TestDoor, key: string, path = '/v1/echo', init: RequestInit = {}) =>
  fetch(door.address + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })

describe('the rate windows', () => {
  test('are absent if the plan sets none or there is no plan', async () => {
    await using door = await openDoor()
    expect(limitHeaders(await ask(door, await door.createKey()))).toEqual([null, null, null, null])
    await door.limit({ maxAccounts: 3 })
    expect(limitHeaders(await ask(door, await door.createKey()))).toEqual([null, null, null, null])
  })

  test('show the window with fewer requests left on every counted answer', async () => {
    await using door = await openDoor()
    await door.limit({ apiCallsPerMinute: 4, apiCallsPerMinutePerKey: 3 })
    standBeforeMinuteEnd(door, 50)
    const [one, two] = [await door.createKey(), await door.createKey()]
    const told: unknown[] = []
    for (const [key, path] of [
      [one, '/v1/echo'],
      [one, '/v1/echo?no'],
      [two, '/v1/echo?fault=declared'],
      [two, '/v1/echo'],
      [two, '/v1/echo'],
    ] as const) {
      const answer = await ask(door, key, path)
      const [limit, remaining, reset, retry] = limitHeaders(answer)
      expect(Number(reset)).toBeGreaterThan(40)
      told.push([answer.status, limit, remaining, retry === reset])
    }
    expect(told).toEqual([
      [200, '3', '2', false],
      [400, '3', '1', false],
      [409, '4', '1', false],
      [200, '4', '0', false],
      [429, '4', '0', true],
    ])
  })

  test('do not count a request that is refused before them', async () => {
    await using door = await openDoor()
    await door.limit({ apiCallsPerMinute: 1 })
    standBeforeMinuteEnd(door, 50)
    const reader = await door.createKey(['read'])
    for (const path of ['/v1/accounts/x/echo', '/v1/nothing']) {
      const answer = await ask(door, reader, path, { method: 'POST' })
      expect(limitHeaders(answer)).toEqual([null, null, null, null])
    }
    expect((await ask(door, reader)).status).toBe(200)
    expect((await ask(door, reader)).status).toBe(429)
    door.pass(60)
    expect((await ask(door, reader)).status).toBe(200)
  })

  test('refuse a key that spent its window before body and scope are checked, with Retry-After only', async () => {
    await using door = await openDoor()
    await door.limit({ apiCallsPerMinute: 100, apiCallsPerMinutePerKey: 1 })
    standBeforeMinuteEnd(door, 50)
    const key = await door.createKey(['read'])
    await ask(door, key)

    const refused = await ask(door, key, '/v1/accounts/x/echo', { method: 'POST' })
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ defined: true, code: 'rate_limited' })
    const [limit, remaining, reset, retry] = limitHeaders(refused)
    expect([limit, remaining, reset]).toEqual([null, null, null])
    expect(Number(retry)).toBeGreaterThan(40)

    const head = `POST /v1/accounts/x/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
    const socket = connect(door.port, '127.0.0.1')
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`)
    const answer = await new Promise<string>(resolve => socket.once('data', data => resolve(data.toString())))
    socket.destroy()
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
  })

  test('accept exactly as many of 200 simultaneous requests as the limit', async () => {
    await using door = await openDoor()
    const burst = await openBurst(door)
    for (let window = 0; window < WINDOWS; window += 1) {
      door.pass(60)
      const answers = await burst(CLIENTS)
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(CLIENTS - LIMIT)
    }
  })

  test('never exceed the limit when the minute ends during a burst', async () => {
    await using door = await openDoor()
    const burst = await openBurst(door)
    for (let edge = 0; edge < WINDOWS; edge += 1) {
      door.pass(60)
      const before = burst(CLIENTS / 2)
      await new Promise(resolve => setImmediate(resolve))
      door.pass(60)
      const answers = (await Promise.all([before, burst(CLIENTS / 2)])).flat()
      const accepted = answers.filter(({ status }) => status === 200)
      const places = Map.groupBy(accepted, ({ remaining }) => remaining)
      expect(Math.max(...[...places.values()].map(({ length }) => length))).toBeLessThanOrEqual(2)
      expect(places.size).toBe(LIMIT)
    }
  })
})

/** Prepares a burst of this many requests with 20 keys of a tenant that has a limit, early in a minute. */
async function openBurst(door: TestDoor) {
  await door.limit({ apiCallsPerMinute: LIMIT, apiCallsPerMinutePerKey: LIMIT + 5 })
  const keys = await Promise.all(Array.from({ length: 20 }, () => door.createKey()))
  standBeforeMinuteEnd(door, 59)
  return (clients: number) =>
    Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        const answer = await ask(door, keys[client % keys.length] ?? '')
        await answer.arrayBuffer()
        return { status: answer.status, remaining: answer.headers.get('ratelimit-remaining') }
      }),
    )
}

describe('an overloaded service', () => {
  test('refuses everything but health checks before it looks at the request', async () => {
    await using door = await openDoor()
    door.overload(['costly', 'read', 'write'])
    for (const path of ['/v1/echo', '/v1/accounts/x/echo', '/v1/nothing', '/v1/openapi.json']) {
      const answer = await fetch(door.address + path, { method: 'POST', body: 'x'.repeat(10) })
      expect(answer.status).toBe(503)
      expect(await answer.json()).toMatchObject({ defined: true, code: 'overloaded' })
      expect(Number(answer.headers.get('retry-after'))).toBeOneOf([1, 2, 3])
    }
    for (const path of ['/health/live', '/health/ready'])
      expect((await fetch(door.address + path)).status).toBe(200)
    door.overload([])
    expect((await ask(door, await door.createKey())).status).toBe(200)
  })

  test('refuses only the classes that it is too busy for', async () => {
    await using door = await openDoor()
    const key = await door.createKey()
    door.overload(['costly', 'read'])
    expect((await ask(door, key)).status).toBe(503)
    expect((await ask(door, key, '/v1/nothing')).status).toBe(503)
    const echo = await ask(door, key, '/v1/accounts/x/echo', { method: 'POST', body: '{}' })
    expect(echo.status).not.toBe(503)
    door.overload(['costly'])
    expect((await ask(door, key)).status).toBe(200)
  })
})
