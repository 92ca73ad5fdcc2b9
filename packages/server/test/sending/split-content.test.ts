import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { composeMessage } from '../../src/features/sending/compose/compose.ts'
import {
  type ContentForm,
  copyForm,
  type StoredContent,
  wireForm,
} from '../../src/features/sending/compose/stored-content.ts'
import { decodeWords } from '../../src/kit/mime/encoded-words.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'
import type { OutgoingPart } from '../../src/providers/sending.ts'
import { askPython, type PythonMessage } from '../bodies/ask-python.ts'
import { type Random, seeded } from '../seeded.ts'
import { hostileComposition, hostileFile } from './hostile-compositions.ts'
import { collect, HANDED_OVER, store, storedOf } from './read-composed.ts'

const inSlices = openSlicedWork()('a')
const KIB = 1024
const REST_BYTES_MAX = 512 * KIB

/** Files of which some are large enough to be handed over beside the message. */
function largeComposition(random: Random) {
  const composition = hostileComposition(random)
  const attachments = Array.from({ length: random.between(1, 6) }, (_, index) => {
    const bytes = Buffer.alloc(random.between(1, 900 * KIB), `${index}${random.between(0, 1e9)}`)
    return {
      ...hostileFile(random, index),
      byteLength: random.chance(0.8) ? bytes.length : null,
      async *open() {
        for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
      },
    }
  })
  return { ...composition, attachments }
}

async function takenApart(form: ContentForm, restBytesMax: number) {
  await using split = await form.split(restBytesMax)
  if (split === null) return null
  const rest = await collect(split.rest.open())
  expect(rest.length).toBe(split.rest.byteLength)
  expect(rest.length).toBeLessThanOrEqual(restBytesMax)
  const parts: Array<OutgoingPart & { content: Buffer }> = []
  for (const part of split.parts) {
    const content = await collect(part.open())
    expect(content.length).toBe(part.byteLength)
    parts.push({ ...part, content })
  }
  return { rest, parts }
}

const digest = (content: string) => createHash('sha256').update(content).digest('hex')

/** Readers of names differ in words that are encoded within words. */
const nameOf = (filename: string | null) => filename && decodeWords(filename).trim()

/** The files that a reader finds, whichever way they came. */
function found({ parts }: PythonMessage, beside: ReadonlyArray<OutgoingPart & { content: Buffer }> = []) {
  const own = parts.map(({ type, filename, contentId, disposition, content }) =>
    JSON.stringify([type, nameOf(filename), contentId, disposition, digest(content ?? '')]),
  )
  const others = beside.map(({ contentType, filename, contentId, isInline, content }) =>
    JSON.stringify([
      contentType,
      nameOf(filename),
      contentId === null ? null : `<${contentId}>`,
      isInline ? 'inline' : 'attachment',
      digest(content.toString('base64')),
    ]),
  )
  return [...own, ...others].toSorted()
}

async function formsOf(stored: StoredContent): Promise<ContentForm[]> {
  const options = { date: HANDED_OVER, has8BitMime: true, hasSmtpUtf8: false, hasBcc: true }
  return [await wireForm(stored, options), copyForm(stored, HANDED_OVER)]
}

describe('a message in parts', () => {
  test('has together exactly what was asked for, in each form, known by its layout or read', async () => {
    const wholes: Buffer[] = []
    const apart: Array<NonNullable<Awaited<ReturnType<typeof takenApart>>>> = []
    let notes = 0
    for (let seed = 0; seed < 6; seed++) {
      const random = seeded(`split ${seed}`)
      const asked = largeComposition(random)
      const composed = await composeMessage(
        { ...asked, wireHtml: async html => `${html}<img src="https://example.com/o">` },
        inSlices,
      )
      const stored = await store(composed)
      if (stored.layout.parts) notes++
      const { parts: _, ...unnoted } = stored.layout
      const read = storedOf(unnoted, await collect(stored.open()))
      for (const form of [...(await formsOf(stored)), ...(await formsOf(read))]) {
        const split = await takenApart(form, REST_BYTES_MAX)
        if (split === null) throw new Error(`message ${seed} has no parts`)
        wholes.push(await collect(form.open()))
        apart.push(split)
      }
    }
    expect(notes).toBeGreaterThan(2)
    expect(apart.filter(({ parts }) => parts.length > 1).length).toBeGreaterThan(6)
    const [before, after] = [askPython(wholes), askPython(apart.map(({ rest }) => rest))]
    for (const [index, { parts }] of apart.entries()) {
      expect(found(after[index]!, parts), `message ${index}`).toEqual(found(before[index]!))
      expect(after[index]!.fields).toEqual(before[index]!.fields)
    }
  })

  test('leaves out as few files as will do, the largest ones, in their order', async () => {
    const fileOf = (name: string, bytes: number) => ({
      filename: name,
      contentType: 'application/pdf',
      contentId: null,
      isInline: false,
      byteLength: bytes,
      async *open() {
        yield Buffer.alloc(bytes, name)
      },
    })
    const composition = hostileComposition(seeded('order'))
    const attachments = [
      fileOf('a', 400 * KIB),
      fileOf('b', 200 * KIB),
      fileOf('c', 600 * KIB),
      fileOf('d', 1),
    ]
    const stored = await store(await composeMessage({ ...composition, attachments }, inSlices))
    const form = copyForm(stored, HANDED_OVER)
    const namesAt = async (bytesMax: number) =>
      (await takenApart(form, bytesMax))?.parts.map(({ filename }) => filename)
    expect(await namesAt(2048 * KIB)).toEqual([])
    expect(await namesAt(900 * KIB)).toEqual(['c'])
    expect(await namesAt(400 * KIB)).toEqual(['a', 'c'])
    expect(await namesAt(100 * KIB)).toEqual(['a', 'b', 'c'])
    expect(await namesAt(100)).toBeUndefined()
  })

  test('is read once for all parts, and from the beginning for one that was read before', async () => {
    const composition = largeComposition(seeded('reads'))
    const stored = await store(await composeMessage(composition, inSlices))
    let reads = 0
    const counted: StoredContent = {
      ...stored,
      async *open() {
        reads++
        yield* stored.open()
      },
    }
    await using split = await copyForm(counted, HANDED_OVER).split(300 * KIB)
    const contents: Buffer[] = []
    reads = 0
    for (const part of split!.parts) contents.push(await collect(part.open()))
    expect(split!.parts.length).toBeGreaterThan(1)
    expect(reads).toBe(1)
    expect(await collect(split!.parts[0]!.open())).toEqual(contents[0])
    expect(reads).toBe(2)
  })

  test('is not made of a message that is signed as a whole, or that has nothing to leave out', async () => {
    const file = Buffer.alloc(800 * KIB, 'x')
      .toString('base64')
      .replaceAll(/.{76}/g, '$&\r\n')
    const mixed = (type: string) =>
      `Date: Thu, 01 Jan 1970 00:00:00 +0000\r\nContent-Type: ${type}; boundary=b\r\n\r\n--b\r\n\r\nText\r\n--b\r\n` +
      `Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n${file}\r\n--b--\r\n`
    const formOf = (raw: string) =>
      copyForm(storedOf({ dateAt: 6, ranges: [], is8Bit: false }, Buffer.from(raw)), HANDED_OVER)
    expect((await takenApart(formOf(mixed('multipart/mixed')), REST_BYTES_MAX))?.parts).toHaveLength(1)
    expect(await formOf(mixed('multipart/signed')).split(REST_BYTES_MAX)).toBeNull()
    const text = `Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n\r\n${'text\r\n'.repeat(200 * KIB)}`
    expect(await formOf(text).split(REST_BYTES_MAX)).toBeNull()
  })
})
