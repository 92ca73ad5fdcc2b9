import { createHash } from 'node:crypto'
import { type Entity, serialize } from '../mime.ts'

/** The facts of a message that can be stated. */
export interface OddFacts {
  /** The text with line feeds, except those at the end. */
  text?: string | null
  html?: string | null
  /** One string for each: part number, type, bytes, then `inline`, `<content id>` and the file name if present. */
  attachments?: string[]
  hasAttachments?: boolean
  subject?: string | null
  /** The author's `Name <address>` or `address`. */
  from?: string | null
  to?: string[]
  cc?: string[]
  /** ISO 8601, UTC. */
  date?: string | null
}

export type Fact = keyof OddFacts

/** A message, and how a reader must read it. Facts that are not stated are compared with the second parser. */
export interface OddMessage extends OddFacts {
  raw: Buffer
  /** Facts, all stated above, that other readers legitimately read differently. */
  unlike?: { python?: Fact[]; dovecot?: true; why: string }
  /** Dovecot refuses or changes it. */
  isUnservable?: true
}

export type OddTable = Record<string, OddMessage>

const USUAL = [
  'From: Ada <ada@a.test>',
  'To: you@b.test',
  'Subject: odd',
  'Date: Thu, 01 Jan 2026 10:00:00 +0000',
]

/** Text of a table as bytes: line feeds become CRLF, and characters beyond Latin-1 become UTF-8. */
export function crlf(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'), 'utf8')
}

/** The usual fields (replaced by those given), a Message-ID of its own, and the body. */
export function mail(fields: string | Buffer, body: string | Buffer = 'Hello.\n'): Buffer {
  const given = typeof fields === 'string' ? crlf(fields) : fields
  const names = new Set(
    given
      .toString('latin1')
      .split('\r\n')
      .map(line => nameOf(line)),
  )
  const content = typeof body === 'string' ? crlf(body) : body
  const id = createHash('sha1').update(given).update(content).digest('hex').slice(0, 16)
  const usual = [...USUAL, `Message-ID: <${id}@odd.test>`].filter(line => !names.has(nameOf(line)))
  const head = usual.map(line => `${line}\r\n`).join('')
  return Buffer.concat([
    Buffer.from(head),
    given,
    Buffer.from(given.length > 0 ? '\r\n\r\n' : '\r\n'),
    content,
  ])
}

function nameOf(line: string) {
  return /^[\w-]+(?=\s*:)/.exec(line)?.[0].toLowerCase()
}

/** A message made from an entity. */
export function mailOf(entity: Entity, fields = ''): Buffer {
  const content = serialize(entity)
  const split = content.indexOf('\r\n\r\n')
  const own = fields === '' ? Buffer.alloc(0) : crlf(`${fields}\n`)
  return mail(Buffer.concat([own, content.subarray(0, split)]), content.subarray(split + 4))
}

/** A multipart written by hand: each part has its fields, an empty line and its content. */
export function multi(kind: string, parts: readonly string[], parameters = ''): Buffer {
  return mail(`MIME-Version: 1.0\nContent-Type: multipart/${kind}; boundary=cut${parameters}`, cut(parts))
}

export function cut(parts: readonly string[], boundary = 'cut'): string {
  return `${parts.map(part => `--${boundary}\n${part}\n`).join('')}--${boundary}--\n`
}
