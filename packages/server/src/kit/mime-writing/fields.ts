import { needsSmtpUtf8, wireAddress } from '../mail-address.ts'
import { encodeWords, toHex } from './encoded-words.ts'

/* Header fields (RFC 5322 section 2.2, RFC 2231). */

export interface Mailbox {
  name: string | null
  address: string
}

/** RFC 5322 section 2.1.1 recommends 78 characters. */
const LINE_LENGTH_MAX = 78
/** A longer text without a blank is encoded, since no line may have more than 998 bytes. */
const PIECE_LENGTH_MAX = 900
/** A longer quoted string could not be folded safely. */
const QUOTED_LENGTH_MAX = 60

/**
 * A field with its value folded. Each piece begins with the white space before it, where the line may be broken. The
 * first stays on the line of the name: Python would take the white space before it for a part of the value.
 */
function foldField(name: string, pieces: readonly string[]): string {
  requireLine(name)
  for (const piece of pieces) requireLine(piece)
  let folded = `${name}:`
  let length = folded.length
  for (const [index, piece] of pieces.entries()) {
    const size = Buffer.byteLength(piece)
    if (index > 0 && length + size > LINE_LENGTH_MAX) {
      folded += '\r\n'
      length = 0
    }
    folded += piece
    length += size
  }
  return `${folded}\r\n`
}

/** Input with control characters is refused where it comes in. A value that gets here must not begin another field. */
function requireLine(value: string): void {
  if (/\p{Cc}/u.test(value)) throw new Error('A header field must not have control characters')
}

/** A field of free text, such as Subject. */
export function textField(name: string, value: string): string {
  requireLine(value)
  const trimmed = value.trim()
  const pieces = ` ${trimmed}`.match(/ +[^ ]+/g) ?? []
  const isPlain = isAscii(trimmed) && pieces.every(piece => piece.length <= PIECE_LENGTH_MAX)
  return foldField(name, isPlain ? pieces : spaced(encodeWords(trimmed, roomAfter(name))))
}

/** Number of characters on the first line, after the name. */
function roomAfter(name: string): number {
  return LINE_LENGTH_MAX - name.length - ': '.length
}

/** A field of ids or other words that need no encoding. */
export function wordsField(name: string, words: readonly string[]): string {
  return foldField(name, spaced(words))
}

/**
 * A field of addresses. Local parts beyond ASCII are written as they are, or, for servers without SMTPUTF8, as a group
 * without members that is named after them (RFC 6857 section 3.1).
 */
export function addressField(name: string, mailboxes: readonly Mailbox[], form: 'utf8' | 'ascii'): string {
  const pieces = mailboxes.flatMap((mailbox, index) => {
    const room = index === 0 ? roomAfter(name) : LINE_LENGTH_MAX
    const isGroup = form === 'ascii' && needsSmtpUtf8(mailbox.address)
    const words = isGroup ? toGroup(mailbox, room) : toWords(mailbox, room)
    if (index < mailboxes.length - 1) words.push(`${words.pop()},`)
    return spaced(words)
  })
  return foldField(name, pieces)
}

function toWords({ name, address }: Mailbox, room: number): string[] {
  const phrase = toPhrase(name ?? '', room)
  return phrase.length > 0 ? [...phrase, `<${wireAddress(address)}>`] : [wireAddress(address)]
}

function toGroup({ name, address }: Mailbox, room: number): string[] {
  return [...encodeWords(`${name ?? ''} ${wireAddress(address)}`.trim(), room), ':;']
}

const ATOMS = /^[\w!#$%&'*+\-/=?^`{|}~]+(?: [\w!#$%&'*+\-/=?^`{|}~]+)*$/

function toPhrase(name: string, room: number): string[] {
  requireLine(name)
  const trimmed = name.trim()
  if (trimmed === '') return []
  if (!isAscii(trimmed) || trimmed.length > QUOTED_LENGTH_MAX) return encodeWords(trimmed, room)
  return ATOMS.test(trimmed) ? trimmed.split(' ') : [`"${trimmed.replaceAll(/["\\]/g, '\\$&')}"`]
}

const PLAIN_PARAMETER = /^[A-Za-z0-9 !#$&()+,\-./:;@[\]^_`{|}~]+$/
const EXTENDED = /[A-Za-z0-9!#$&+\-.^_`{|}~]/
/** Characters of one piece of a parameter that is split. */
const PIECE_OF_PARAMETER = 60

/** A parameter of Content-Type or Content-Disposition as pieces for `foldField`, each after a semicolon. */
function parameterPieces(name: string, value: string): string[] {
  if (PLAIN_PARAMETER.test(value) && value.length <= QUOTED_LENGTH_MAX) return [` ${name}="${value}"`]
  const pieces: string[] = []
  let piece = ''
  for (const character of value.toWellFormed()) {
    const escaped = percentEncode(character)
    if (piece.length + escaped.length > PIECE_OF_PARAMETER - name.length) {
      pieces.push(piece)
      piece = ''
    }
    piece += escaped
  }
  pieces.push(piece)
  const [only] = pieces
  if (pieces.length === 1) return [` ${name}*=UTF-8''${only}`]
  return pieces.map((part, index) => ` ${name}*${index}*=${index === 0 ? "UTF-8''" : ''}${part}`)
}

function percentEncode(character: string): string {
  if (character.length === 1 && EXTENDED.test(character)) return character
  return [...Buffer.from(character, 'utf8')].map(byte => `%${toHex(byte)}`).join('')
}

/** A field with parameters, such as Content-Type. */
export function contentField(name: string, value: string, parameters: Record<string, string | null>): string {
  const pieces = [` ${value}`]
  for (const [key, parameter] of Object.entries(parameters)) {
    if (parameter !== null) pieces.push(...parameterPieces(key, parameter))
  }
  return foldField(
    name,
    pieces.map((piece, index) => (index < pieces.length - 1 ? `${piece};` : piece)),
  )
}

function spaced(words: readonly string[]): string[] {
  return words.map(word => ` ${word}`)
}

/** Whether a value can stand in a header as it is: visible ASCII and blanks, and nothing that reads as encoded. */
function isAscii(value: string): boolean {
  return /^[ -~]*$/.test(value) && !value.includes('=?')
}
