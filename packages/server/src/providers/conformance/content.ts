import { describe, expect, test } from 'vitest'
import { CONTENT_BYTES_MAX, type ContentEnd, type ContentProvider, type ContentRange } from '../content.ts'
import type { Location } from '../content.ts'
import type { MessageKey } from '../mail.ts'
import { type Arrangement, letter, letters } from './arrangement.ts'

interface Read {
  text: string
  end: ContentEnd
}

const WHOLE: ContentRange = { part: null, isHeader: false, offset: 0, end: null, size: null }
/** A letter of somewhat more than two pieces. */
const LONG = letter(3) + 'long line\r\n'.repeat(CONTENT_BYTES_MAX / 5)

async function locate(
  arranged: Arrangement<'content'>,
  key: MessageKey,
  mailbox = 'INBOX',
): Promise<Location> {
  const { source, cursor } = await arranged.index(mailbox)
  return { source, cursor, key }
}

async function read(
  content: ContentProvider,
  location: Location,
  range: Partial<ContentRange> = {},
): Promise<Read> {
  const pieces: Buffer[] = []
  const stream = content.open(location, { ...WHOLE, ...range })
  for (;;) {
    const { done, value } = await stream.next()
    if (done) return { text: Buffer.concat(pieces).toString(), end: value }
    expect(value.length).toBeGreaterThan(0)
    expect(value.length).toBeLessThanOrEqual(CONTENT_BYTES_MAX)
    pieces.push(value)
  }
}

const missingKey = (key: MessageKey) => (typeof key === 'number' ? key + 1000 : `${key}-missing`)

/** Contract of every `ContentProvider`. `setUp` makes a new account for each test. */
export function describeContent(name: string, setUp: () => Promise<Arrangement<'content'>>): void {
  describe(`${name}: content`, () => {
    test('streams a message from any offset, and its parts by their numbers', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(1))
      const at = await locate(arranged, key!)
      await using account = await arranged.connect()
      const { content } = account
      const source = letter(1)
      const bodyAt = source.indexOf('\r\n\r\n') + 4

      expect(await read(content, at)).toEqual({ text: source, end: 'end' })
      expect(await read(content, at, { offset: 10 })).toEqual({ text: source.slice(10), end: 'end' })
      expect((await read(content, at, { offset: 10, end: 30 })).text).toBe(source.slice(10, 30))
      expect(await read(content, at, { offset: 10_000 })).toEqual({ text: '', end: 'end' })
      expect((await read(content, at, { part: '1' })).text).toBe(source.slice(bodyAt))
      expect((await read(content, at, { isHeader: true })).text).toBe(source.slice(0, bodyAt))
      expect((await read(content, at, { part: '7' })).text).toBe('')
      for (const size of [0, 20, source.length, 10_000])
        expect((await read(content, at, { size })).text, `said to be ${size} long`).toBe(source)
    })

    test('fails with not_found where there is no such message or part', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(1))
      const at = await locate(arranged, key!)
      await using account = await arranged.connect()
      const { content } = account

      await expect(read(content, { ...at, key: missingKey(at.key) })).rejects.toMatchObject({
        kind: 'not_found',
      })
      await expect(read(content, at, { part: '1] BODY[' })).rejects.toMatchObject({ kind: 'not_found' })
      expect((await read(content, at)).text).toBe(letter(1))
    })

    test('streams a long message in pieces, to be taken up by another connection after any of them', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver([{ raw: LONG }])
      const at = await locate(arranged, key!)

      const pieces: Buffer[] = []
      let offset = 0
      for (let connections = 0; offset < LONG.length && connections < 1000; connections++) {
        await using account = await arranged.connect()
        for await (const piece of account.content.open(at, { ...WHOLE, offset })) {
          pieces.push(piece)
          offset += piece.length
          break
        }
      }

      expect(pieces.length).toBeGreaterThan(2)
      expect(Buffer.concat(pieces).toString()).toBe(LONG)
    })

    test('streams several messages beside each other, and lets others use the connection in between', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Projects')
      const [key] = await arranged.world.deliver([{ raw: LONG }])
      const [other] = await arranged.world.deliver(
        [{ raw: LONG.replace('Letter 3', 'Letter 4') }],
        'Projects',
      )
      const locations = [await locate(arranged, key!), await locate(arranged, other!, 'Projects')]
      await using account = await arranged.connect()

      const streams = locations.map(at => ({ pieces: account.content.open(at, WHOLE), read: '' }))
      for (let open = streams; open.length > 0;) {
        const ended = new Set<unknown>()
        for (const stream of open) {
          const { done, value } = await stream.pieces.next()
          if (done) ended.add(stream)
          else stream.read += value.toString()
        }
        open = open.filter(stream => !ended.has(stream))
      }

      expect(streams.map(stream => stream.read.length)).toEqual([LONG.length, LONG.length])
      expect(streams.map(stream => /Letter \d/.exec(stream.read)?.[0])).toEqual(['Letter 3', 'Letter 4'])
    })

    test('gives the sources of several messages at once, without messages that are gone or too long', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver([...letters(2), { raw: LONG }, ...letters(1, 4)])
      const { source, cursor } = await arranged.index('INBOX')
      await arranged.world.expunge('INBOX', [keys[1]!])
      await using account = await arranged.connect()
      const { content } = account
      const at = { source, cursor, keys: [...keys, missingKey(keys[0]!)] }

      const sources = await content.readSources(at, CONTENT_BYTES_MAX)

      expect(Object.fromEntries([...sources].map(([key, bytes]) => [key, bytes.toString()]))).toEqual({
        [keys[0]!]: letter(1),
        [keys[3]!]: letter(4),
      })
      expect((await content.readSources(at, Buffer.byteLength(letter(1)) + 10)).size).toBe(1)
      expect(await content.readSources({ ...at, keys: [keys[1]!] }, CONTENT_BYTES_MAX)).toEqual(new Map())
    })
  })
}
