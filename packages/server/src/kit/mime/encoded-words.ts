import { decodeBytes, mayGoOn } from './charset.ts'
import { decodeQuotedPrintable } from './transfer-encoding.ts'

// RFC 2047 section 2 allows 75 characters per word; senders exceed it, so only the charset's name is limited.
const CHARSET_LENGTH_MAX = 60

interface EncodedWord {
  charset: string
  bytes: Buffer
  end: number
}

/** Words that are decoded together. */
interface Run {
  charset: string
  bytes: Buffer[]
  mayGoOn: boolean
}

/**
 * Decodes the encoded words of a header value (RFC 2047), which may be anywhere, also inside quoted strings. Adjacent
 * words in one charset are joined before they are decoded, since senders cut characters in two; words of a stateful
 * charset are joined only if one ends within a shift.
 */
export function decodeWords(value: string): string {
  let next = value.indexOf('=?')
  if (next < 0) return value
  let text = ''
  let from = 0
  let run: Run | null = null
  const endRun = () => {
    if (run) text += decodeBytes(Buffer.concat(run.bytes), run.charset)
    run = null
  }
  while (next >= 0) {
    const word = readWord(value, next)
    if (word === 'none') break
    if (!word) {
      next = value.indexOf('=?', next + 2)
      continue
    }
    const gap = value.slice(from, next)
    if (!run || gap.trim() !== '' || run.charset !== word.charset || !run.mayGoOn) {
      const isJoined: boolean = run !== null && gap.trim() === ''
      endRun()
      if (!isJoined) text += gap
      run = { charset: word.charset, bytes: [], mayGoOn: false }
    }
    run.bytes.push(word.bytes)
    run.mayGoOn = mayGoOn(word.bytes, word.charset, run.mayGoOn)
    from = word.end
    next = value.indexOf('=?', from)
  }
  endRun()
  return text + value.slice(from)
}

/** The word that begins at `at`; null if none does, `none` if no word can end any more. */
function readWord(value: string, at: number): EncodedWord | 'none' | null {
  const charsetEnd = value.indexOf('?', at + 2)
  if (charsetEnd < 0) return 'none'
  if (charsetEnd - at - 2 > CHARSET_LENGTH_MAX || value[charsetEnd + 2] !== '?') return null
  const encoding = value[charsetEnd + 1]?.toLowerCase()
  if (encoding !== 'q' && encoding !== 'b') return null
  const end = value.indexOf('?=', charsetEnd + 3)
  if (end < 0) return 'none'
  const encoded = value.slice(charsetEnd + 3, end)
  return {
    // RFC 2231 section 5 adds a language after an asterisk.
    charset: value
      .slice(at + 2, charsetEnd)
      .split('*', 1)[0]!
      .toLowerCase(),
    bytes:
      encoding === 'b'
        ? Buffer.from(encoded, 'base64')
        : decodeQuotedPrintable(encoded.replaceAll('_', '=20')),
    end: end + 2,
  }
}
