import { expect, test } from 'vitest'
import { MemoryRoom } from './memory-room.ts'

const MB = 1024 * 1024
const BODY = 36 * MB

const openRoom = (waitSeconds = 20) =>
  new MemoryRoom({ bytesMax: 108 * MB, tenantBytesMax: 72 * MB, waitSeconds })

/** Notes which bodies have room, by name. */
function enterAll(room: MemoryRoom, bodies: ReadonlyArray<[name: string, tenantId: string, bytes: number]>) {
  const inside = new Map<string, Disposable>()
  const entered = bodies.map(async ([name, tenantId, bytes]) => {
    const held = await room.enter(tenantId, bytes)
    if (held) inside.set(name, held)
    return held !== null
  })
  const names = async () => {
    await Promise.resolve()
    return [...inside.keys()]
  }
  const leave = (name: string) => {
    inside.get(name)?.[Symbol.dispose]()
    inside.delete(name)
  }
  return { names, leave, entered }
}

test('gives a tenant two thirds of the room, and the rest to others', async () => {
  const { names, leave } = enterAll(openRoom(), [
    ['a1', 'a', BODY],
    ['a2', 'a', BODY],
    ['a3', 'a', BODY],
    ['b1', 'b', BODY],
    ['b2', 'b', BODY],
  ])
  await expect.poll(names).toEqual(['a1', 'a2', 'b1'])
  leave('a1')
  await expect.poll(names).toEqual(['a2', 'b1', 'a3'])
  leave('a2')
  await expect.poll(names).toEqual(['b1', 'a3', 'b2'])
})

test('lets nobody pass a work that waits for more room', async () => {
  const { names, leave } = enterAll(openRoom(), [
    ['a', 'a', 72 * MB],
    ['b', 'b', 40 * MB],
    ['c', 'c', 3 * MB],
  ])
  await expect.poll(names).toEqual(['a'])
  leave('a')
  await expect.poll(names).toEqual(['b', 'c'])
})

test('gives up where there is no room in time, and lets the next in', async () => {
  const room = openRoom(0.05)
  const { entered, leave, names } = enterAll(room, [
    ['a', 'a', 72 * MB],
    ['b', 'b', 40 * MB],
  ])
  expect(await Promise.all(entered)).toEqual([true, false])
  const later = enterAll(room, [['c', 'c', BODY]])
  await expect.poll(later.names).toEqual(['c'])
  leave('a')
  expect(await names()).toEqual([])
})
