import type { Random } from '../seeded.ts'
import type { Language } from './languages.ts'
import { type Encoding, type Entity, fileEntity, forwardedEntity, multipart, textEntity } from './mime.ts'

export interface Body {
  kind: string
  entity: Entity
  hasAttachments: boolean
  snippetStart: string
}

/** The text of a message of about this many characters. */
export function writeText(random: Random, language: Language, length: number): string {
  const lines: string[] = []
  for (let written = 0; written < length || lines.length === 0;) {
    const sentence = random.pick(language.sentences)
    lines.push(sentence)
    written += sentence.length + 2
  }
  return `${lines.join('\r\n')}\r\n`
}

/** A body in one of the shapes of everyday mail. Attachments fill it up to about `size` bytes. */
export function writeBody(random: Random, language: Language, size: number): Body {
  const text = writeText(random, language, Math.min(size / 2, random.between(40, 4000)))
  const first = text.replaceAll(/\s+/g, ' ').trim().slice(0, 60)
  const plain = textEntity(text, pickTextOptions(random, language))
  const html = textEntity(toHtml(text), {
    subtype: 'html',
    encoding: random.pick(['quoted-printable', 'base64']),
  })
  const boundary = `=_${random.between(1e8, 1e9)}.${random.between(1, 99)}`
  const left = Math.max(200, size - plain.body.length)
  const done = (kind: string, entity: Entity, hasAttachments = false): Body => ({
    kind,
    entity,
    hasAttachments,
    snippetStart: first,
  })
  const alternative = () => multipart('alternative', [plain, html], `alt${boundary}`)

  const shape = random.between(0, 99)
  if (shape < 30)
    return done('plain', textEntity(text + fill(random, language, left), pickTextOptions(random, language)))
  if (shape < 38) return done('html only', html)
  if (shape < 65) return done('alternative', alternative())
  if (shape < 80) {
    return done('attachment', multipart('mixed', [alternative(), writeFile(random, left)], boundary), true)
  }
  if (shape < 86) {
    const file = writeFile(random, 40)
    return done(
      'attachments',
      multipart('mixed', [plain, file, writeFile(random, left), file], boundary),
      true,
    )
  }
  if (shape < 93) return done('inline image', relate(random, plain, text, left, boundary))
  if (shape < 96) {
    const inner = relate(random, plain, text, left, boundary)
    return done('nested parts', multipart('mixed', [inner, writeFile(random, 300)], `mix${boundary}`), true)
  }
  if (shape < 98) return done('invitation', invite(plain, boundary), true)
  return done('forwarded message', forward(random, language, plain, left, boundary), true)
}

function pickTextOptions(random: Random, { charsets }: Language) {
  const charset = charsets.length > 0 && random.chance(0.4) ? random.pick(charsets) : 'utf-8'
  const isSevenBit = charset === 'us-ascii' || charset === 'iso-2022-jp' || charset === 'utf-7'
  const encodings: Encoding[] = isSevenBit ? ['7bit'] : ['quoted-printable', 'base64', '8bit']
  return { charset, encoding: random.pick(encodings) }
}

function toHtml(text: string, extra = '') {
  const paragraphs = text
    .trim()
    .split('\r\n')
    .map(line => `<p>${line.replaceAll('&', '&amp;')}</p>`)
  const head = '<html><head><title>Not the text</title><style>p { margin: 0 }</style></head>'
  return `${head}\r\n<body>\r\n${paragraphs.join('\r\n')}${extra}</body></html>\r\n`
}

/** Repeats plain text up to the length that a person writes. */
function fill(random: Random, language: Language, size: number) {
  return writeText(random, language, Math.min(size / 3, 20_000))
}

const FILES = [
  { name: 'report.pdf', type: 'application/pdf' },
  { name: 'Übersicht 2025.xlsx', type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
  { name: '議事録.docx', type: 'application/octet-stream' },
  { name: 'photo.jpg', type: 'image/jpeg' },
  { name: 'semi;colon "quoted".zip', type: 'application/zip' },
] as const

function writeFile(random: Random, size: number) {
  const { name, type } = random.pick(FILES)
  return fileEntity(name, noise(random, size * 0.73), {
    type,
    nameStyle: random.pick(['rfc2231', 'rfc2047']),
  })
}

function relate(random: Random, plain: Entity, text: string, size: number, boundary: string) {
  const contentId = `image${random.between(1, 1e6)}@example.com`
  const html = textEntity(toHtml(text, `<img src="cid:${contentId}">`), { subtype: 'html' })
  const image = fileEntity('logo.png', noise(random, size * 0.73), {
    type: 'image/png',
    disposition: 'inline',
    contentId,
  })
  const related = multipart('related', [html, image], `rel${boundary}`)
  return multipart('alternative', [plain, related], `alt${boundary}`)
}

function invite(plain: Entity, boundary: string) {
  const calendar = 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n'
  return multipart(
    'alternative',
    [plain, textEntity(calendar, { subtype: 'calendar; method=REQUEST' })],
    boundary,
  )
}

function forward(random: Random, language: Language, plain: Entity, size: number, boundary: string) {
  const inner = textEntity(writeText(random, language, Math.min(size, 3000)))
  const head = 'From: inner@example.com\r\nSubject: The inner one\r\nMessage-ID: <inner@example.com>\r\n'
  const raw = Buffer.concat([Buffer.from(`${head}${inner.fields.join('\r\n')}\r\n\r\n`), inner.body])
  const part = forwardedEntity(raw)
  part.fields[1] = 'Content-Disposition: attachment; filename=original.eml'
  return multipart('mixed', [plain, part], boundary)
}

const NOISE_SIZE = 1 << 20
let noiseBytes: Buffer | null = null

/** Bytes that look like those of a compressed file: a slice of one megabyte that is drawn once. */
export function noise(random: Random, size: number): Buffer {
  if (!noiseBytes) {
    noiseBytes = Buffer.alloc(NOISE_SIZE)
    let state = 0x9e3779b9
    for (let at = 0; at < NOISE_SIZE; at++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0
      noiseBytes[at] = state >>> 24
    }
  }
  const length = Math.min(Math.floor(size), NOISE_SIZE / 2)
  const start = random.between(0, NOISE_SIZE - length)
  return noiseBytes.subarray(start, start + length)
}
