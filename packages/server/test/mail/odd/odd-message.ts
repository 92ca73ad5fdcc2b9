import { createHash } from 'node:crypto'
import { type Entity, serialize } from '../mime.ts'

/** What can be told of a message. */
export interface OddFacts {
  /** With line feeds, without those at the end. */
  text?: string | null
  html?: string | null
  /** One a line: part number, type, bytes, then where they are `inline`, `<content id>` and the file name. */
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

/** A message, and what a reader shall make of it. What is not stated is for the second parser to tell. */
export interface OddMessage extends OddFacts {
  raw: Buffer
  /** Where other readers rightly see another thing; what is named is stated above. */
  unlike?: { python?: Fact[]; dovecot?: true; why: string }
  /** Dovecot refuses it, or changes it. */
  isUnservable?: true
}

export type OddTable = Record<string, OddMessage>

const USUAL = [
  'From: Ada <ada@a.test>',
  'To: you@b.test',
  'Subject: odd',
  'Date: Thu, 01 Jan 2026 10:00:00 +0000',
]

/** Text of a table as octets: line feeds become CRLF, and what is beyond Latin-1 becomes UTF-8. */
export function octets(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'), 'utf8')
}

/** The usual fields (those given take their place), a Message-ID of its own, and the body. */
export function mail(fields: string | Buffer, body: string | Buffer = 'Hello.\n'): Buffer {
  const given = typeof fields === 'string' ? octets(fields) : fields
  const names = new Set(
    given
      .toString('latin1')
      .split('\r\n')
      .map(line => nameOf(line)),
  )
  const content = typeof body === 'string' ? octets(body) : body
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

/** A message that is made of an entity. */
export function mailOf(entity: Entity, fields = ''): Buffer {
  const content = serialize(entity)
  const split = content.indexOf('\r\n\r\n')
  const own = fields === '' ? Buffer.alloc(0) : octets(`${fields}\n`)
  return mail(Buffer.concat([own, content.subarray(0, split)]), content.subarray(split + 4))
}

/** A multipart written by hand: each part is its fields, an empty line and its content. */
export function multi(kind: string, parts: readonly string[], parameters = ''): Buffer {
  return mail(`MIME-Version: 1.0\nContent-Type: multipart/${kind}; boundary=cut${parameters}`, cut(parts))
}

export function cut(parts: readonly string[], boundary = 'cut'): string {
  return `${parts.map(part => `--${boundary}\n${part}\n`).join('')}--${boundary}--\n`
}
