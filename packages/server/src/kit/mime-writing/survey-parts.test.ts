import { describe, expect, test } from 'vitest'
import { askPython, type PythonMessage } from '../../../test/bodies/ask-python.ts'
import { contentOf, parse, pythonDiffers } from '../../../test/bodies/facts.ts'
import { ODD_MAIL } from '../../../test/mail/odd/odd-mail.ts'
import { transferDecoder } from '../mime/transfer-decoder.ts'
import { type SeparablePart, surveyParts } from './survey-parts.ts'
import { UnwalkableMessage } from './walk-message.ts'

async function* inPieces(content: Buffer, pieceBytes: number) {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
}

/** A message without its separable parts, and their contents. */
interface Separated {
  raw: Buffer
  rest: Buffer
  parts: Array<SeparablePart & { content: Buffer }>
}

async function separate(raw: Buffer, pieceBytes = raw.length + 1): Promise<Separated> {
  const found = await surveyParts(inPieces(raw, pieceBytes), 1).catch((error: unknown) => {
    if (error instanceof UnwalkableMessage) return []
    throw error
  })
  const kept: Buffer[] = []
  let from = 0
  for (const { start, end } of found) {
    expect(start).toBeGreaterThanOrEqual(from)
    kept.push(raw.subarray(from, start))
    from = end
  }
  const parts = found.map(part => {
    const body = raw.subarray(part.bodyStart, part.end)
    const decoder = transferDecoder(part.encoding)
    return { ...part, content: Buffer.concat([decoder.push(body), decoder.end()]) }
  })
  return { raw, rest: Buffer.concat([...kept, raw.subarray(from)]), parts }
}

const crlf = (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')

const MAIL = `Content-Type: multipart/mixed; boundary=m

--m
Content-Type: multipart/related; boundary=r

--r
Content-Type: text/html

<img src="cid:a@b">
--r
Content-Type: image/png; name="a.png"
Content-Disposition: inline
Content-ID: <a@b>
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--r--

--m
Content-Type: application/pdf; name*=utf-8''%C3%BC.pdf
Content-Disposition: attachment
Content-Transfer-Encoding: BASE64

JVBERi0x
LjQK
--m
Content-Type: text/csv; charset=latin1
Content-Disposition: attachment; filename=b.csv

a,b
c,d
--m--
`

describe('surveyParts', () => {
  test('finds files, and the rest is the message without them', async () => {
    for (const pieceBytes of [1, 2, 3, 7, 10_000]) {
      const { rest, parts } = await separate(crlf(MAIL), pieceBytes)
      expect(
        parts.map(({ content, byteLength, ...part }) => {
          expect(byteLength).toBe(content.length)
          const { contentType, filename, contentId, isInline } = part
          return [contentType, filename, contentId, isInline, content.toString('latin1')]
        }),
      ).toEqual([
        ['image/png', 'a.png', 'a@b', true, '\x89PNG\r\n\x1a\n'],
        ['application/pdf', 'ü.pdf', null, false, '%PDF-1.4\n'],
        ['text/csv; charset=latin1', 'b.csv', null, false, 'a,b\r\nc,d'],
      ])
      expect(rest.toString()).toBe(
        'Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: multipart/related; boundary=r\r\n\r\n' +
          '--r\r\nContent-Type: text/html\r\n\r\n<img src="cid:a@b">\r\n--r--\r\n\r\n--m--\r\n',
      )
    }
  })

  test.each([
    ['what is signed', /multipart\/mixed/, 'multipart/signed'],
    ['what is encrypted', /multipart\/mixed/, 'multipart/encrypted'],
    ['a report', /multipart\/mixed/, 'multipart/report'],
    ['what is known by its address', /^Content-(?:ID|Disposition)(?=.)/gm, 'Content-Location: x\nContent-ID'],
    [
      'an event that is offered',
      /application\/pdf|text\/csv|image\/png/g,
      'text/calendar; method=REQUEST; x',
    ],
    ['messages', /application\/pdf|text\/csv|image\/png/g, 'message/rfc822'],
    ['other encodings', /BASE64|base64|\nContent-Disposition: attachment; f/g, 'quoted-printable'],
  ])('leaves %s together', async (_, pattern, replacement) => {
    const { parts } = await separate(crlf(MAIL.replace(pattern, replacement)))
    expect(parts.filter(({ contentType }) => contentType !== 'text/csv; charset=latin1')).toEqual([])
  })

  test('leaves a file where it is the first part, or has no end', async () => {
    const alone = MAIL.replace(/--m\nContent-Type: multipart[^]*?--r--\n\n/, '')
    expect((await separate(crlf(alone))).parts.map(part => part.filename)).toEqual(['b.csv'])
    const cut = MAIL.slice(0, MAIL.indexOf('LjQK'))
    expect((await separate(crlf(cut))).parts.map(part => part.filename)).toEqual(['a.png'])
  })
})

describe('the parts and the rest of odd mail', async () => {
  const messages = Object.entries(ODD_MAIL).map(([name, { raw }]) => ({ name, raw }))
  const separated = await Promise.all(messages.map(({ raw }, index) => separate(raw, 1 + (index % 97))))

  test('have many parts', () => {
    expect(separated.filter(({ parts }) => parts.length > 0).length).toBeGreaterThan(30)
  })

  test('are together what the message has, as our reader finds it', () => {
    for (const [index, { raw, rest, parts }] of separated.entries()) {
      const { name } = messages[index]!
      const before = parse(raw)
      const after = parse(rest)
      expect({ ...textsOf(after) }, name).toEqual(textsOf(before))
      const separateFiles = parts.map(({ contentType, contentId, filename, content }) =>
        fileOf({ contentType: contentType.split(';')[0]!, contentId, filename }, content),
      )
      expect([...filesOf(rest), ...separateFiles].toSorted(), name).toEqual(filesOf(raw).toSorted())
    }
  })

  test('are together what the message has, as Python finds it', () => {
    const [before, after] = [
      askPython(separated.map(({ raw }) => raw)),
      askPython(separated.map(({ rest }) => rest)),
    ]
    for (const [index, { parts }] of separated.entries()) {
      if (pythonDiffers(ODD_MAIL[messages[index]!.name]!, 'attachments')) continue
      const own = parts.map(({ contentType, content }) =>
        JSON.stringify([contentType.split(';')[0]!, content.toString('base64')]),
      )
      const [had, has] = [before[index]!, after[index]!].map(contentsOf)
      expect([...has!, ...own].toSorted(), messages[index]!.name).toEqual(had!.toSorted())
      expect(after[index]!.fields, messages[index]!.name).toEqual(before[index]!.fields)
    }
  })
})

function textsOf({ text, html }: ReturnType<typeof parse>) {
  return { text, html }
}

function fileOf(
  {
    contentType,
    contentId,
    filename,
  }: { contentType: string; contentId: string | null; filename: string | null },
  content: Buffer,
): string {
  return JSON.stringify([contentType, contentId, filename, content.toString('base64')])
}

function filesOf(raw: Buffer): string[] {
  return parse(raw).attachments.map(attachment => fileOf(attachment, contentOf(raw, attachment)))
}

function contentsOf({ parts }: PythonMessage): string[] {
  return parts.map(({ type, content }) => JSON.stringify([type, content]))
}
