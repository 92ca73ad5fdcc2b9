/* Encoded words (RFC 2047). */

const PREFIX = { Q: '=?UTF-8?Q?', B: '=?UTF-8?B?' }
/** Section 2. */
const WORD_LENGTH_MAX = 75
const FRAME_LENGTH = PREFIX.Q.length + '?='.length
/** Enough for one character of four bytes. */
const PAYLOAD_LENGTH_MIN = 12
/** Above this share of bytes that Q would write as three characters, B is shorter. */
const ESCAPES_MAX = 1 / 6

/** Safe in any header field, also in a phrase (section 5, rule 3). */
const SAFE = /[A-Za-z0-9!*+\-/]/

/**
 * A text as encoded words, to be separated by white space, which readers drop. No character is cut in two.
 * @param firstLengthMax room for the first word
 */
export function encodeWords(value: string, firstLengthMax = WORD_LENGTH_MAX): string[] {
  const bytes = Buffer.from(value, 'utf8')
  const escapes = bytes.filter(byte => byte !== 0x20 && !SAFE.test(String.fromCharCode(byte))).length
  const encoding = escapes > bytes.length * ESCAPES_MAX ? 'B' : 'Q'
  const words: string[] = []
  let payload = ''
  let held = ''
  let room = Math.max(PAYLOAD_LENGTH_MIN, Math.min(WORD_LENGTH_MAX, firstLengthMax) - FRAME_LENGTH)
  const end = () => {
    if (payload) words.push(`${PREFIX[encoding]}${payload}?=`)
  }
  for (const character of value.toWellFormed()) {
    const next = encoding === 'Q' ? payload + escape(character) : toBase64(held + character)
    if (next.length > room) {
      end()
      room = WORD_LENGTH_MAX - FRAME_LENGTH
      held = character
      payload = encoding === 'Q' ? escape(character) : toBase64(character)
    } else {
      held += character
      payload = next
    }
  }
  end()
  return words
}

function escape(character: string): string {
  if (character === ' ') return '_'
  if (SAFE.test(character) && character.length === 1) return character
  let escaped = ''
  for (const byte of Buffer.from(character, 'utf8')) escaped += `=${toHex(byte)}`
  return escaped
}

function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}

/** Two upper-case hexadecimal digits. */
export function toHex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}
