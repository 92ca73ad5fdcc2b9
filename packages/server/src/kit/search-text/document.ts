import { readWords } from './words.ts'

/*
 * The search document of a message, as a tsvector in PostgreSQL's binary form: the number of words (32 bits), then each
 * word in UTF-8, a zero, the number of its positions (16 bits) and its positions (16 bits each: 2 of weight, 14 of
 * position, ascending).
 */

/** Maximum length of one text; the rest is not searched. */
export const TEXT_LENGTH_MAX = 256 * 1024
/**
 * A tsvector has positions up to 16,383. In a longer text they start again, so that its phrases are still found, except
 * for a phrase across that point.
 */
const HEADER_POSITIONS = 4000
const BODY_POSITIONS = 12_000
/** Maximum positions that PostgreSQL keeps for one word. */
const PLACES_PER_WORD_MAX = 255
/** A tsvector can have 1 MiB; these are the shares of header and body. */
const HEADER_BYTES_MAX = 256 * 1024
const BODY_BYTES_MAX = 640 * 1024
/**
 * A gap in positions, so that no phrase reaches from one field into the next, or from a header into the body after
 * it.
 */
const GAP = 10

/** Weights of words, A the highest: the two bits above a position. */
const WEIGHTS = { A: 0xc0_00, B: 0x80_00, C: 0x40_00, D: 0 } as const
type Weight = keyof typeof WEIGHTS
const POSITION_BITS = 0x3f_ff

export interface SearchedFields {
  subject: string | null
  /** Names and addresses. */
  sender: readonly string[]
  recipients: readonly string[]
  /** The text of the body: the snippet, until `bodyVector` of the whole body replaces it. */
  text: string
}

/** Subject (A), sender (B), recipients (C) and text (D). */
export function documentVector({ subject, sender, recipients, text }: SearchedFields): Buffer {
  const words = openWords(HEADER_POSITIONS, HEADER_BYTES_MAX)
  if (subject !== null) words.add(subject, 'A')
  for (const line of sender) words.add(line, 'B')
  for (const line of recipients) words.add(line, 'C')
  words.add(text, 'D')
  return words.toVector()
}

/** The text of a body (D), to be appended to the fields of the header. */
export function bodyVector(text: string): Buffer {
  const words = openWords(BODY_POSITIONS, BODY_BYTES_MAX)
  words.add(text, 'D')
  return words.toVector()
}

function openWords(positions: number, bytesMax: number) {
  const found = new Map<string, number[]>()
  let position = GAP
  /** The size in PostgreSQL's own form. */
  let bytes = 0
  /** The size in the binary form. */
  let size = 4

  function take(word: string, place: number) {
    if (bytes >= bytesMax) return
    const places = found.get(word)
    if (places === undefined) {
      found.set(word, [place])
      const length = byteLength(word)
      // The word's bytes, the number of positions and the first position, each at an even address.
      bytes += length + 5
      size += length + 5
    } else if (places.length < PLACES_PER_WORD_MAX) {
      places.push(place)
      bytes += 2
      size += 2
    }
  }
  return {
    add(text: string, weight: Weight) {
      const bits = WEIGHTS[weight]
      const end = readWords(text.slice(0, TEXT_LENGTH_MAX), position, (word, at) =>
        take(word, ((at % positions) + 1) | bits),
      )
      position = end === position ? position : end + GAP
    },
    toVector(): Buffer {
      // Not from a pool: transferring the buffer to another thread would transfer the whole pool.
      const vector = Buffer.allocUnsafeSlow(size)
      let end = vector.writeInt32BE(found.size)
      for (const [word, places] of found) {
        end = writeWord(vector, word, end)
        vector[end++] = 0
        const ascending = position > positions ? inOrder(places) : places
        end = vector.writeUInt16BE(ascending.length, end)
        for (const place of ascending) end = vector.writeUInt16BE(place, end)
      }
      return vector.subarray(0, end)
    },
  }
}

/** Sorts positions that started again. Of two equal positions, the one with more weight stays. */
function inOrder(places: readonly number[]): number[] {
  const sorted = places.toSorted((a, b) => (a & POSITION_BITS) - (b & POSITION_BITS) || b - a)
  return sorted.filter(
    (place, nth) => nth === 0 || (place & POSITION_BITS) !== (sorted[nth - 1]! & POSITION_BITS),
  )
}

/** Most words are ASCII and short: a function call costs too much for them. */
function byteLength(word: string): number {
  for (let at = 0; at < word.length; at++) if (word.charCodeAt(at) > 0x7f) return Buffer.byteLength(word)
  return word.length
}

function writeWord(into: Buffer, word: string, from: number): number {
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at)
    if (code > 0x7f) return from + into.write(word, from)
    into[from + at] = code
  }
  return from + word.length
}
