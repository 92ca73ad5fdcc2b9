import { describe, expect, test } from 'vitest'
import { openMessageParser, type ParsedMessage } from '../../src/kit/mime/message-parser.ts'
import { transferDecoder } from '../../src/kit/mime/transfer-decoder.ts'
import { BROKEN } from '../mail/broken.ts'
import { generateMail } from '../mail/corpus.ts'
import { askPython } from './ask-python.ts'

const COUNT = 600
/** Kinds of broken mail that may be read in two ways. */
const OPEN_TO_DEBATE =
  /base64 with rubbish|a boundary that never occurs|multipart without a boundary|no header|NUL|a line that is not a field|nested 60 deep|bare line feeds/

/** Parses in pieces of odd sizes, so that every boundary between pieces falls everywhere. */
function parse(raw: Buffer, pieceBytes: number): ParsedMessage {
  const parser = openMessageParser()
  for (let at = 0; at < raw.length; at += pieceBytes) parser.push(raw.subarray(at, at + pieceBytes))
  return parser.end()
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

describe('the parser of messages', () => {
  const corpus = [...generateMail({ seed: 7, count: COUNT, brokenShare: 0.1 })]
  const python = askPython(corpus.map(({ raw }) => raw))

  test('is compared for every kind of broken mail', () => {
    expect(Object.keys(BROKEN).filter(kind => !corpus.some(message => message.kind === kind))).toEqual([])
  })

  test.each([4096, 1_000_000])('gives the same result as Python, in pieces of %i bytes', pieceBytes => {
    let compared = 0
    for (const [index, { raw, kind }] of corpus.entries()) {
      if (OPEN_TO_DEBATE.test(kind)) continue
      const found = parse(raw, pieceBytes)
      const wanted = python[index]?.parts ?? []
      compared++
      const others = new Set(found.attachments.map(({ id }) => id))
      const files = wanted.filter(({ id }) => others.has(id))
      expect(
        found.attachments.map(({ id, contentType, start, end, encoding }) => {
          const decoder = transferDecoder(encoding)
          const content = Buffer.concat([decoder.push(raw.subarray(start, end)), decoder.end()])
          return {
            id,
            contentType,
            content: contentType === 'message/rfc822' ? null : content.toString('base64'),
          }
        }),
        kind,
      ).toEqual(files.map(({ id, type, content }) => ({ id, contentType: type, content })))
      // Texts that are not attachments are the body.
      const texts = wanted.filter(({ id }) => !others.has(id))
      expect(
        texts.every(({ type }) => type === 'text/plain' || type === 'text/html'),
        kind,
      ).toBe(true)
      expect(found.text === null, kind).toBe(!texts.some(({ type }) => type === 'text/plain'))
      expect(found.html === null, kind).toBe(!texts.some(({ type }) => type === 'text/html'))
      for (const half of ['text', 'html'] as const) {
        const halves = texts.filter(({ type }) => type === (half === 'text' ? 'text/plain' : 'text/html'))
        // Python returns no text for an unknown charset, or for bytes outside it.
        if (halves.some(({ text }) => text === null)) continue
        expect(plain(found[half] ?? ''), kind).toBe(plain(halves.map(({ text }) => text).join('\n')))
      }
    }
    expect(compared).toBeGreaterThan(400)
  })

  test('gives the same result in pieces of any size', () => {
    for (const { raw, kind } of corpus.slice(0, 150)) {
      if (raw.length > 20_000) continue
      const whole = parse(raw, raw.length + 1)
      for (const pieceBytes of [1, 2, 3, 7, 61])
        expect(parse(raw, pieceBytes), `${kind} by ${pieceBytes}`).toEqual(whole)
    }
  })
})
