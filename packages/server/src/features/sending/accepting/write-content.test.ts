import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type ContentTarget, writeContent } from './write-content.ts'

const MB = 1024 * 1024
const key = createSecretKey(randomBytes(32))

/** A target without a database: each step is counted, and steps fail from the given one on. */
function targetFailingFrom(failingStep: number) {
  let steps = 0
  const room = { held: 0, entered: 0 }
  const target: ContentTarget = {
    accountId: 'account',
    sealingOf: contentId => ({ key, context: [contentId] }),
    step: async () => {
      if (++steps >= failingStep) throw new Error('The database is away')
      return undefined as never
    },
    async enterLarge() {
      room.held++
      room.entered++
      return { [Symbol.dispose]: () => void room.held-- }
    },
  }
  return { target, room }
}

async function* bytesOf(megabytes: number, failsAt = Number.POSITIVE_INFINITY) {
  for (let nth = 0; nth < megabytes; nth++) {
    if (nth === failsAt) throw new Error('The provider is away')
    yield randomBytes(MB)
  }
}

test.each([
  ['is written', 6, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ['cannot be stored at its first step', 6, 1, Number.POSITIVE_INFINITY],
  ['cannot be stored at a later step', 6, 3, Number.POSITIVE_INFINITY],
  ['cannot be read to its end', 6, Number.POSITIVE_INFINITY, 4],
])('a large content that %s gives its room back', async (_, megabytes, failingStep, failsAt) => {
  const { target, room } = targetFailingFrom(failingStep)
  const written = writeContent(
    { layout: {}, byteLength: null, open: () => bytesOf(megabytes, failsAt) },
    target,
  )
  await written.catch(() => undefined)
  expect(room).toEqual({ held: 0, entered: 1 })
})

test('a small content needs no room', async () => {
  const { target, room } = targetFailingFrom(1)
  const { piece } = await writeContent({ layout: {}, byteLength: 0, open: () => bytesOf(0) }, target)
  expect(piece).not.toBeNull()
  expect(room.entered).toBe(0)
})

test('a content that is known to be large is not read before there is room for it', async () => {
  const { target, room } = targetFailingFrom(Number.POSITIVE_INFINITY)
  const heldAtReading: number[] = []
  async function* open() {
    heldAtReading.push(room.held)
    yield* bytesOf(6)
  }
  await writeContent({ layout: {}, byteLength: 6 * MB, open }, target)
  expect(heldAtReading).toEqual([1])
})
