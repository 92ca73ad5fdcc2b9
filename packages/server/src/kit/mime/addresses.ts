import { decodeWords } from './encoded-words.ts'
import { cleanLine } from './text.ts'

const FIELD_LENGTH_MAX = 64 * 1024
const ADDRESSES_MAX = 2000
const NAME_LENGTH_MAX = 1000
// RFC 5321 section 4.5.3.1: 64 octets of local part and 255 of domain.
const ADDRESS_LENGTH_MAX = 320
const LOCAL_PART_GLANCE = 200

export interface ParsedAddress {
  name: string | null
  address: string
}

/** The parts of one mailbox that have been read so far. */
interface Draft {
  words: string[]
  comment: string
  angle: string | null
}

interface Scan {
  text: string
  position: number
  draft: Draft
  found: ParsedAddress[]
  /** Characters known to have no partner in the rest, so that the rest is searched for each only once. */
  unpaired: Set<string>
}

const SPECIAL = /[\s",;:<>()]/g

/**
 * Reads an address list (RFC 5322 section 3.4, with the obsolete syntax and common deviations): groups are flattened,
 * and a comment serves as the name if there is none. Linear, never throws; at most 2,000 addresses from 64 KB.
 */
export function readAddresses(field: string | null): ParsedAddress[] {
  const found = readMailboxes(field)
  return found.every(isReachable) ? found : found.filter(isReachable)
}

function isReachable({ address }: ParsedAddress): boolean {
  return address !== ''
}

/**
 * The first address of a field. One with an `@` is preferred, since names are written with bare commas, too, as in `Doe,
 * John <john@example.com>`. If there is no address, the first name without one, as in the `Mail Delivery System <>` of
 * bounces.
 */
export function readAuthor(field: string | null): ParsedAddress | null {
  const found = readMailboxes(field)
  return found.find(({ address }) => address.includes('@')) ?? found.find(isReachable) ?? found[0] ?? null
}

function readMailboxes(field: string | null): ParsedAddress[] {
  if (!field) return []
  const text = field.slice(0, FIELD_LENGTH_MAX)
  const scan: Scan = { text, position: 0, draft: newDraft(), found: [], unpaired: new Set() }
  while (scan.position < text.length && scan.found.length < ADDRESSES_MAX) readToken(scan)
  if (scan.found.length < ADDRESSES_MAX) finish(scan)
  return scan.found
}

function newDraft(): Draft {
  return { words: [], comment: '', angle: null }
}

function readToken(scan: Scan): void {
  const sign = scan.text[scan.position]!
  if (sign === ',' || sign === ';') {
    finish(scan)
    scan.position++
  } else if (sign === ':' && isGroupName(scan.draft)) {
    scan.draft = newDraft()
    scan.position++
  } else if (sign === '"') readQuoted(scan)
  else if (sign === '(') readComment(scan)
  else if (sign === '<') readAngle(scan)
  else if (sign.trim() === '') scan.position++
  else readWord(scan, '')
}

function isGroupName(draft: Draft): boolean {
  return draft.angle === null && !draft.words.some(word => word.includes('@'))
}

/** A run of plain characters; `prefix` is a quoted local part that it continues. */
function readWord(scan: Scan, prefix: string): void {
  let end = endOfWord(scan.text, scan.position)
  // Colons within an address belong to a literal: ada@[IPv6:::1].
  if (scan.text[end] === ':' && scan.text.slice(scan.position, end).includes('@[')) {
    while (scan.text[end] === ':') end = endOfWord(scan.text, end)
  }
  scan.draft.words.push(prefix + scan.text.slice(scan.position, end))
  scan.position = end
}

function endOfWord(text: string, start: number): number {
  SPECIAL.lastIndex = start + 1
  return SPECIAL.exec(text)?.index ?? text.length
}

function readQuoted(scan: Scan): void {
  const { text } = scan
  let value = ''
  let at = scan.position + 1
  let from = at
  for (; at < text.length && !scan.unpaired.has('"'); at++) {
    const code = text.charCodeAt(at)
    if (code === 92) {
      value += text.slice(from, at)
      from = ++at
    } else if (code === 34) {
      value += text.slice(from, at)
      const isLocalPart = text[at + 1] === '@'
      const raw = text.slice(scan.position, at + 1)
      scan.position = at + 1
      if (isLocalPart) readWord(scan, raw)
      else if (value) scan.draft.words.push(value)
      return
    }
  }
  scan.unpaired.add('"')
  scan.position++
}

function readComment(scan: Scan): void {
  const { text } = scan
  let depth = 0
  for (let at = scan.position; at < text.length && !scan.unpaired.has('('); at++) {
    const code = text.charCodeAt(at)
    if (code === 92) at++
    else if (code === 40) depth++
    else if (code === 41 && --depth === 0) {
      scan.draft.comment ||= text.slice(scan.position + 1, at).replaceAll(/\\(.)/g, '$1')
      scan.position = at + 1
      return
    }
  }
  scan.unpaired.add('(')
  scan.position++
}

function readAngle(scan: Scan): void {
  const { text } = scan
  // A quoted local part may contain the closing bracket.
  const local =
    text[scan.position + 1] === '"' ? text.slice(scan.position, scan.position + LOCAL_PART_GLANCE) : ''
  const close = scan.unpaired.has('<')
    ? -1
    : text.indexOf('>', scan.position + Math.max(0, local.indexOf('"@')))
  if (close < 0) {
    scan.unpaired.add('<')
    scan.position++
    return
  }
  const inner = text.slice(scan.position + 1, close).replace(/^[<\s]+/, '')
  // RFC 5322 section 4.4: an obsolete route, <@a,@b:user@c>.
  scan.draft.angle ??= inner.startsWith('@') ? inner.slice(inner.indexOf(':') + 1) : inner
  scan.position = close + 1
  // Some senders write two brackets: <<ada@example.com>>.
  while (text[scan.position] === '>') scan.position++
}

function finish(scan: Scan): void {
  const { words, comment, angle } = scan.draft
  scan.draft = newDraft()
  const bare =
    angle === null || (angle.trim() === '' && words.some(word => word.includes('@')))
      ? findBareAddress(words)
      : null
  const given = (bare?.address ?? angle ?? '').trim()
  const address = cleanLine(
    given.startsWith('"') ? given : given.replaceAll(/\s+/g, ''),
    ADDRESS_LENGTH_MAX + 1,
  )
  if ((address === '' && angle === null) || address === '@' || address.length > ADDRESS_LENGTH_MAX) return
  const phrase = cleanLine(decodeWords((bare ? bare.rest : words).join(' ')), NAME_LENGTH_MAX)
  const name = phrase || cleanLine(decodeWords(comment), NAME_LENGTH_MAX)
  if (address === '' && name === '') return
  scan.found.push({
    name: name === '' || name.toLowerCase() === address.toLowerCase() ? null : name,
    address,
  })
}

/** An address without brackets among words: `ada@example.com`, `Ada ada@example.com`, `ada @ example . com`, `root`. */
function findBareAddress(words: string[]): { address: string; rest: string[] } | null {
  const at = words.findIndex(word => word.length > 2 && word.indexOf('@') > 0 && !word.endsWith('@'))
  if (at >= 0) return { address: words[at]!, rest: words.toSpliced(at, 1) }
  if (words.some(word => word.includes('@'))) return { address: words.join(''), rest: [] }
  return words.length === 1 ? { address: words[0]!, rest: [] } : null
}
