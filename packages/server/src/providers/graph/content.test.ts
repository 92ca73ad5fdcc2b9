import { expect, test } from 'vitest'
import type { ContentRange } from '../content.ts'
import { AnswerUnread } from '../http/exchange.ts'
import { graphContent } from './content.ts'
import type { GraphConnection } from './graph-connection.ts'

const SOURCE = Buffer.from(
  `Subject: x\r\n\r\n${Array.from({ length: 5_000 }, (_, at) => `${at}\r\n`).join('')}`,
)
const PIECE = 1_000

/** A mailbox whose content ends with `AnswerUnread` after this number of bytes, a little later each time it is opened. */
function playMailbox(
  readAtOnce: number,
  sourceAt: (opened: number) => Buffer = () => SOURCE,
): { connection: GraphConnection; opened(): number } {
  let opened = 0
  async function* content(bytes: number) {
    const source = sourceAt(opened)
    for (let at = 0; at < Math.min(bytes, source.length); at += PIECE) yield source.subarray(at, at + PIECE)
    if (bytes < source.length) throw new AnswerUnread('unavailable', 'The content was not read in time.')
  }
  const stream = () =>
    Promise.resolve({
      status: 200,
      headers: {},
      content: content((opened += 1) * readAtOnce),
      received: Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  const connection = { api: { stream }, signal: new AbortController().signal } as unknown as GraphConnection
  return { connection, opened: () => opened }
}

async function read(connection: GraphConnection, range: Partial<ContentRange> = {}): Promise<Buffer> {
  const wanted: ContentRange = { part: null, isHeader: false, offset: 0, end: null, size: null, ...range }
  const at = { source: 'inbox', cursor: null, key: 'a' }
  const pieces: Buffer[] = []
  for await (const piece of graphContent(connection).open(at, wanted)) pieces.push(piece)
  return Buffer.concat(pieces)
}

const RANGES: ReadonlyArray<readonly [string, Partial<ContentRange>, Buffer]> = [
  ['the whole', {}, SOURCE],
  ['a range', { offset: 1_234, end: 20_001 }, SOURCE.subarray(1_234, 20_001)],
  ['the header', { isHeader: true }, SOURCE.subarray(0, 14)],
]

test.each(RANGES)(
  'a source whose reader pauses is opened again behind what was read: %s',
  async (_, range, expected) => {
    const { connection, opened } = playMailbox(7_000)
    expect((await read(connection, range)).equals(expected)).toBe(true)
    expect(opened()).toBe(Math.ceil((range.end ?? expected.length) / 7_000))
  },
)

test('a source is not opened for ever', async () => {
  const { connection, opened } = playMailbox(0)
  await expect(read(connection)).rejects.toBeInstanceOf(AnswerUnread)
  expect(opened()).toBe(40)
})

test.each([
  ['is edited', Buffer.concat([Buffer.from('s'), SOURCE.subarray(1)])],
  ['has become shorter', SOURCE.subarray(0, 1_500)],
])('a source that %s while its reader pauses is not put together from two', async (_, other) => {
  const { connection } = playMailbox(7_000, opened => (opened === 1 ? SOURCE : other))
  await expect(read(connection)).rejects.toMatchObject({ kind: 'conflict' })
})
