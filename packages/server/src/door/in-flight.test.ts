import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type TestDoor, useTestDoors } from '../../test/use-doors.ts'
import { createTenant } from '../features/tenancy/tenants/store.ts'
import { newId } from '../kit/ids.ts'
import { IN_FLIGHT_MAX } from '../limits/in-flight.ts'
import { TENANT_AT_WORK_MAX } from '../limits/tenant-shares.ts'
import { numberFor } from '../../test/soak.ts'

const { openDoor } = useTestDoors()

const ABORTED = numberFor({ ci: 1_000, soak: 10_000 })
const AT_A_TIME = 100

describe('a credential', () => {
  test('is limited to 16 for one key, and other keys are not held up', async () => {
    await using door = await openDoor()
    const [busy, idle] = [await door.createKey(), await door.createKey(['write'])]
    const ask = (key: string, id: string) =>
      fetch(`${door.address}/v1/echo`, { headers: { authorization: `Bearer ${key}`, 'x-request-id': id } })
    const holds = Array.from({ length: IN_FLIGHT_MAX }, (_, nth) => door.hold(`held-${nth}`))
    const underWay = holds.map((_, nth) => ask(busy, `held-${nth}`))
    await Promise.all(holds.map(hold => hold.entered))

    const refused = await ask(busy, 'one-more')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ defined: true, code: 'too_many_requests' })
    expect((await ask(idle, 'other')).status).toBe(403)

    holds[0]?.release()
    expect((await underWay[0])?.status).toBe(200)
    await expect.poll(async () => (await ask(busy, 'again')).status, { timeout: 60_000 }).toBe(200)
    for (const { release } of holds) release()
    for (const answer of underWay) expect((await answer).status).toBe(200)
    await expect.poll(() => door.calls.inFlightTotal, { timeout: 60_000 }).toBe(0)
  })

  test('includes a request whose caller is gone while its handler works', async () => {
    await using door = await openDoor()
    const { entered, release } = door.hold('gone')
    const socket = await send(door, 'gone', await door.createKey())
    await entered
    socket.destroy()
    await new Promise(resolve => socket.once('close', resolve))
    expect(door.calls.inFlightTotal).toBe(1)

    release()
    await expect.poll(() => door.calls.inFlightTotal, { timeout: 60_000 }).toBe(0)
  })

  test('returns to zero after many downloads whose callers hung up', async () => {
    await using door = await openDoor()
    const keys = await Promise.all(Array.from({ length: 8 }, () => door.createKey()))
    let sent = 0
    async function sendAndLeave(caller: number) {
      while (sent < ABORTED) {
        const nth = sent++
        const socket = await send(door, `${caller}`, keys[caller % keys.length] ?? '', '/v1/download')
        // Callers hang up before the request is read, before its answer, or during the answer.
        if (nth % 3 > 0) await new Promise(resolve => setImmediate(resolve))
        if (nth % 3 > 1) await new Promise(resolve => socket.once('data', resolve).once('close', resolve))
        socket.destroy()
      }
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, (_, caller) => sendAndLeave(caller)))

    await expect.poll(() => door.calls.inFlightTotal, { timeout: 60_000 }).toBe(0)
    expect(door.answers.length).toBeGreaterThanOrEqual(Math.floor(ABORTED / 3))
    const answer = await fetch(`${door.address}/v1/echo`, { headers: { authorization: `Bearer ${keys[0]}` } })
    expect(answer.status).toBe(200)
  }, 300_000)
})

describe('a tenant', () => {
  test('has at most half of the requests at work, with whatever keys, while another tenant asks', async () => {
    await using door = await openDoor()
    const other = await createTenant(door.db, newId())
    const otherKey = await door.createKey(['read'], { tenantId: other!.id })
    const ask = (key: string, id: string) =>
      fetch(`${door.address}/v1/echo`, { headers: { authorization: `Bearer ${key}`, 'x-request-id': id } })
    expect((await ask(otherKey, 'first')).status).toBe(200)
    const keys = await Promise.all(
      Array.from({ length: TENANT_AT_WORK_MAX / IN_FLIGHT_MAX }, () => door.createKey()),
    )
    const holds = Array.from({ length: TENANT_AT_WORK_MAX }, (_, nth) => door.hold(`share-${nth}`))
    const underWay = holds.map((_, nth) => ask(keys[nth % keys.length]!, `share-${nth}`))
    await Promise.all(holds.map(hold => hold.entered))

    const refused = await ask(await door.createKey(), 'one-more')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ defined: true, code: 'too_many_requests' })
    expect((await ask('waxwing_nobody', 'guessed')).status).toBe(401)
    expect((await ask(otherKey, 'second')).status).toBe(200)

    for (const { release } of holds) release()
    for (const answer of underWay) expect((await answer).status).toBe(200)
    await expect.poll(async () => (await ask(keys[0]!, 'again')).status, { timeout: 60_000 }).toBe(200)
  })
})

/** Connects and sends a request without waiting for its answer. */
async function send(door: TestDoor, requestId: string, key: string, path = '/v1/echo') {
  const socket = connect(door.port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise(resolve => socket.once('connect', resolve))
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${requestId}\r\n\r\n`,
  )
  return socket
}
