import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import fc from '../../../test/property.ts'
import { SealError } from '../seal.ts'
import { openFrames, sealFrames } from './sealed-frames.ts'

const sealing = { key: createSecretKey(randomBytes(32)), context: ['tenant', 'message'] }
/** Two whole frames and a part of one. */
const content = randomBytes(150_000)
const SEALED_BYTES = 1 + 32 + 150_000 + 3 * 16
const FIRST_FRAME_END = 1 + 32 + 65_536 + 16

const PLACES = fc.array(fc.integer({ min: 0, max: SEALED_BYTES }), { maxLength: 8 })

async function seal(): Promise<Buffer> {
  const sealed = Buffer.concat(await Array.fromAsync(sealFrames([content], sealing)))
  expect(sealed).toHaveLength(SEALED_BYTES)
  return sealed
}

function cutAt(bytes: Buffer, places: number[]): Buffer[] {
  const ends = [...places.toSorted((one, other) => one - other), bytes.length]
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

test('frames open in whatever pieces they arrive', async () => {
  const sealed = await seal()
  await fc.assert(
    fc.asyncProperty(PLACES, async places => {
      const opened = Buffer.concat(await Array.fromAsync(openFrames(cutAt(sealed, places), sealing)))
      expect(opened.equals(content)).toBe(true)
    }),
  )
})

test('a frame with a changed byte gives nothing, in whatever pieces it arrives', async () => {
  const sealed = await seal()
  const within = fc.integer({ min: FIRST_FRAME_END, max: SEALED_BYTES - 1 })
  await fc.assert(
    fc.asyncProperty(PLACES, within, async (places, changed) => {
      const broken = Buffer.from(sealed)
      broken[changed]! ^= 1
      const opened: Buffer[] = []
      const reading = (async () => {
        for await (const bytes of openFrames(cutAt(broken, places), sealing)) opened.push(bytes)
      })()
      await expect(reading).rejects.toThrow(SealError)
      const frames = changed < FIRST_FRAME_END + 65_536 + 16 ? 1 : 2
      expect(Buffer.concat(opened).equals(content.subarray(0, frames * 65_536))).toBe(true)
    }),
  )
})
