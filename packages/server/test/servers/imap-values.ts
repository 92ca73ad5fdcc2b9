/** A value of an IMAP answer: atoms and quoted strings, literals, NIL, and lists of these. */
export type ImapValue = string | Buffer | null | ImapValue[]

const STOPS = new Set([' ', '(', ')', '"'])

/** Parses an answer given as its text pieces with the literals between them (RFC 9051 section 9). */
export function parseImapAnswer(pieces: readonly string[], literals: readonly Buffer[]): ImapValue[] {
  const root: ImapValue[] = []
  const open: ImapValue[][] = [root]
  pieces.forEach((piece, index) => {
    const literal = literals[index]
    const text = literal === undefined ? piece : piece.replace(/~?\{\d+\}$/, '')
    parseText(text, open)
    if (literal !== undefined) open.at(-1)?.push(literal)
  })
  return root
}

function parseText(text: string, open: ImapValue[][]) {
  let at = 0
  while (at < text.length) {
    const start = text.charAt(at)
    if (start === ' ') at++
    else if (start === '(') {
      const list: ImapValue[] = []
      open.at(-1)?.push(list)
      open.push(list)
      at++
    } else if (start === ')') {
      if (open.length > 1) open.pop()
      at++
    } else if (start === '"') at = parseQuoted(text, at + 1, open)
    else at = parseAtom(text, at, open)
  }
}

function parseQuoted(text: string, from: number, open: ImapValue[][]) {
  let value = ''
  let at = from
  while (at < text.length && text.charAt(at) !== '"') {
    if (text.charAt(at) === '\\') at++
    value += text.charAt(at)
    at++
  }
  open.at(-1)?.push(value)
  return at + 1
}

function parseAtom(text: string, from: number, open: ImapValue[][]) {
  let at = from
  // BODY[HEADER.FIELDS (A B)] is one atom for us.
  let brackets = 0
  while (at < text.length && (brackets > 0 || !STOPS.has(text.charAt(at)))) {
    if (text.charAt(at) === '[') brackets++
    if (text.charAt(at) === ']') brackets--
    at++
  }
  const atom = text.slice(from, at)
  open.at(-1)?.push(atom.toUpperCase() === 'NIL' ? null : atom)
  return at
}

/** A string of an answer as bytes; `latin1` keeps those of a quoted string as they came. */
export function bytesOf(value: ImapValue | undefined): Buffer | null {
  if (typeof value === 'string') return Buffer.from(value, 'latin1')
  return Buffer.isBuffer(value) ? value : null
}

/** `{UID: …, FLAGS: …}` of a list of names and values. */
export function attributesOf(value: ImapValue | undefined): Map<string, ImapValue> {
  const found = new Map<string, ImapValue>()
  if (!Array.isArray(value)) return found
  for (let index = 0; index + 1 < value.length; index += 2) {
    found.set(String(value[index]).toUpperCase(), value[index + 1] ?? null)
  }
  return found
}

/** Mailbox names travel in modified UTF-7 (RFC 3501 section 5.1.3). */
export function encodeMailboxName(name: string): string {
  return name.replace(/&|[^\x20-\x7e]+/g, run => {
    if (run === '&') return '&-'
    const utf16 = Buffer.from(run, 'utf16le').swap16()
    return `&${utf16.toString('base64').replace(/=+$/, '').replaceAll('/', ',')}-`
  })
}

export function decodeMailboxName(name: string): string {
  return name.replace(/&([^-]*)-/g, (_, base64: string) => {
    if (base64 === '') return '&'
    const utf16 = Buffer.from(base64.replaceAll(',', '/'), 'base64')
    return utf16
      .subarray(0, utf16.length & ~1)
      .swap16()
      .toString('utf16le')
  })
}

export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
