import { Agent, request } from 'node:http'
import { beforeAll, afterAll, expect, test } from 'vitest'
import { newNonce } from '../../src/connections/kinds/graph-push/client-state.ts'
import { NOTIFICATION_PATH } from '../../src/connections/kinds/graph-push/receive.ts'
import { newId } from '../../src/kit/ids.ts'
import { liveMemory } from '../live-memory.ts'
import { useTestDoors } from '../use-doors.ts'
import { waitUntil } from '../wait-until.ts'
import { collectionOf, openReceivers } from './open-receivers.ts'

const { openDoor } = useTestDoors()
const PUSHES = 1000
/** Notifications of one push. */
const ITEMS = 10
const CLIENTS = 100
const CALLS = 10
/** Characters that each forged notification has besides. All of them together have 60 MB. */
const PADDING = 6000
/** Memory that may still be in use when all are answered. */
const KEPT_MB_MAX = 16

let agent: Agent
beforeAll(() => void (agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })))
afterAll(() => agent.destroy())

async function open() {
  const pushes: ReturnType<typeof openReceivers>['receivers'] = []
  const door = await openDoor({ pushes })
  await door.close({ deadlineMilliseconds: 0 })
  const opened = openReceivers(door.db, door.tenantId)
  const flooded = await openDoor({ pushes: opened.receivers })
  return { ...opened, door: flooded, [Symbol.asyncDispose]: () => flooded.close({ deadlineMilliseconds: 0 }) }
}

function push(address: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(address + NOTIFICATION_PATH, { method: 'POST', agent }, answer => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends every body, and calls of the API among them. Returns the statuses and how often each came. */
async function flood(opened: Awaited<ReturnType<typeof open>>, bodyOf: (nth: number) => string) {
  const { door } = opened
  const key = await door.createKey()
  const statuses = new Map<string, number>()
  const count = (name: string) => statuses.set(name, (statuses.get(name) ?? 0) + 1)
  const sent: Array<Promise<unknown>> = []
  for (let nth = 0; nth < PUSHES; nth++) {
    sent.push(push(door.address, bodyOf(nth)).then(status => count(`push ${status}`)))
    if (nth % (PUSHES / CALLS) === 0) {
      const call = fetch(`${door.address}/v1/echo`, { headers: { authorization: `Bearer ${key}` } })
      sent.push(call.then(async answer => (await answer.arrayBuffer(), count(`call ${answer.status}`))))
    }
  }
  await Promise.all(sent)
  return Object.fromEntries(statuses)
}

const ALL_ANSWERED = { 'push 202': PUSHES, 'call 200': CALLS }

test('10,000 forged notifications in a burst cost no statement, leave nothing in memory, and calls are answered', async () => {
  await using opened = await open()
  const { states, statements } = opened
  const genuine = states.make({ accountId: newId(), kind: 'mail', nonce: newNonce() })
  const forged = (nth: number) => genuine.slice(0, -8) + String(nth).padStart(8, '0')
  const bodyOf = (nth: number) =>
    collectionOf(
      Array.from({ length: ITEMS }, (_, item) => forged(nth * ITEMS + item)),
      { padding: String(nth % 10).repeat(PADDING) },
    )
  const measure = liveMemory()
  const before = measure()
  expect(await flood(opened, bodyOf)).toEqual(ALL_ANSWERED)
  expect(statements.count).toBe(0)
  // The memory of some bodies is free only a moment after a collection.
  await waitUntil('the memory to be free', async () => measure() - before < KEPT_MB_MAX)
})

test('10,000 genuine notifications of two accounts cost a statement each 20 ms at most', async () => {
  await using opened = await open()
  const both = [await opened.subscribe(), await opened.subscribe()]
  const bodies = both.map(({ clientState }) => collectionOf(Array.from({ length: ITEMS }, () => clientState)))
  const begun = performance.now()
  const statuses = await flood(opened, nth => bodies[nth % 2]!)
  expect(statuses).toEqual(ALL_ANSWERED)
  await waitUntil('both wakes', async () => opened.woken.length >= 2)
  expect(opened.woken.toSorted()).toEqual(both.map(({ accountId }) => accountId).toSorted())
  expect(opened.statements.count).toBeLessThanOrEqual((performance.now() - begun) / 20 + 1)
  expect(opened.warnings).toEqual([])
})
