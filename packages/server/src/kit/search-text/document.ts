import { readWords } from './words.ts'

/* What a message is found by, as literals of PostgreSQL's tsvector. They need no quoting: words have no quotes. */

/** Of one text; what follows is not searched. */
export const TEXT_LENGTH_MAX = 256 * 1024
/**
 * A tsvector holds positions to 16,383. Those of a long text begin anew, so that its phrases are found, but for one that
 * lies across the place where they do.
 */
const HEADER_POSITIONS = 4000
const BODY_POSITIONS = 12_000
/** What PostgreSQL keeps of one word. */
const PLACES_PER_WORD_MAX = 255
/** A tsvector takes 1 MiB; these are its header and its body. */
const HEADER_BYTES_MAX = 256 * 1024
const BODY_BYTES_MAX = 640 * 1024
/** So that no phrase reaches from one field into the next, nor from a header into the body behind it. */
const GAP = 10

/** Where a word counts: A most. */
type Weight = 'A' | 'B' | 'C' | 'D'

export interface SearchedFields {
  subject: string | null
  /** Names and addresses. */
  sender: readonly string[]
  recipients: readonly string[]
  /** What stands for the body: the snippet, until `bodyVector` of the whole takes its place. */
  text: string
}

/** Subject (A), sender (B), recipients (C) and text (D). */
export function documentVector({ subject, sender, recipients, text }: SearchedFields): string {
  const words = openWords(HEADER_POSITIONS, HEADER_BYTES_MAX)
  if (subject !== null) words.add(subject, 'A')
  for (const line of sender) words.add(line, 'B')
  for (const line of recipients) words.add(line, 'C')
  words.add(text, 'D')
  return words.toLiteral()
}

/** The text of a body (D), to be put behind the fields of the header. */
export function bodyVector(text: string): string {
  const words = openWords(BODY_POSITIONS, BODY_BYTES_MAX)
  words.add(text, 'D')
  return words.toLiteral()
}

interface Places {
  literal: string
  count: number
}

function openWords(positions: number, bytesMax: number) {
  const found = new Map<string, Places>()
  let position = GAP
  let bytes = 0

  function take(word: string, at: number, weight: Weight) {
    const known = found.get(word)
    const place = `${(at % positions) + 1}${weight}`
    if (known) {
      if (known.count >= PLACES_PER_WORD_MAX || bytes >= bytesMax) return
      known.literal += `,${place}`
      known.count++
      bytes += 2
    } else if (bytes < bytesMax) {
      found.set(word, { literal: place, count: 1 })
      // Octets, the number of places and the first, each on an even address.
      bytes += Buffer.byteLength(word) + 5
    }
  }
  return {
    add(text: string, weight: Weight) {
      const end = readWords(text.slice(0, TEXT_LENGTH_MAX), position, (word, at) => take(word, at, weight))
      position = end === position ? position : end + GAP
    },
    toLiteral() {
      const entries: string[] = []
      for (const [word, { literal }] of found) entries.push(`'${word}':${literal}`)
      return entries.join(' ')
    },
  }
}
