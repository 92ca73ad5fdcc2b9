import { cutText } from '../mime/text.ts'

/* Splits texts into words. Documents and queries use the same rules. */

/** Only this much of a longer word is indexed. */
const WORD_LENGTH_MAX = 64

/**
 * In scripts without spaces, two adjacent characters are a `pair`, and each character is a `part`, or `single` if it is
 * the only one of its run.
 */
export type WordKind = 'word' | 'pair' | 'part' | 'single'

/** Called with each word in order. Positions count words, and characters in scripts without spaces. */
export type TakeWord = (word: string, position: number, kind: WordKind) => void

/** Reads words from position `from` on. @returns the position after the last one */
export function readWords(text: string, from: number, take: TakeWord): number {
  const folded = foldText(text)
  let position = from
  for (let at = 0; at < folded.length;) {
    const code = folded.codePointAt(at)!
    const kind = kindOf(code)
    const start = at
    at += widthOf(code)
    if (kind === SEPARATOR) continue
    if (kind === SYMBOL) take(folded.slice(start, at), position++, 'word')
    else {
      at = endOfRun(folded, at, kind)
      if (kind === SPACELESS) position = readRun(folded.slice(start, at), position, take)
      else take(cutText(folded.slice(start, at), WORD_LENGTH_MAX), position++, 'word')
    }
  }
  return position
}

function readRun(run: string, from: number, take: TakeWord): number {
  let position = from
  for (let at = 0; at < run.length; position++) {
    const second = at + widthOf(run.codePointAt(at)!)
    const isAlone = second === run.length && at === 0
    take(run.slice(at, second), position, isAlone ? 'single' : 'part')
    if (second < run.length) take(run.slice(at, second + widthOf(run.codePointAt(second)!)), position, 'pair')
    at = second
  }
  return position
}

function endOfRun(text: string, from: number, kind: number): number {
  let at = from
  while (at < text.length) {
    const code = text.codePointAt(at)!
    if (kindOf(code) !== kind) break
    at += widthOf(code)
  }
  return at
}

function widthOf(code: number): number {
  return code > 0xff_ff ? 2 : 1
}

const BEYOND_ASCII = /[^\u0000-\u007f]/
// Accents, vowel points of Hebrew and Arabic, the hamza on letters, and the stroke that only widens.
const MARKS =
  /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g
// Invisible marks within words, which nobody types.
const INVISIBLE =
  /\u{ad}|\u{34f}|\u{61c}|\u{115f}|\u{1160}|\u{17b4}|\u{17b5}|[\u{fe00}-\u{fe0f}]|[\u{180b}-\u{180f}]|[\u{200b}-\u{200f}\u{2060}-\u{2064}\u{feff}]/gu
/** Letters that have no decomposition in Unicode, but that people also write without the stroke or as two letters. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ı: 'i',
  ł: 'l',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  æ: 'ae',
  œ: 'oe',
  ς: 'σ',
}
const SPECIAL_LETTERS = /[ßıłøđðþæœς]/g

/** Removes case, accents, widths and other variants of the same letter. */
function foldText(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replaceAll(MARKS, '')
    .replaceAll(INVISIBLE, '')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(SPECIAL_LETTERS, letter => LETTERS[letter] ?? letter)
}

const SEPARATOR = 1
const WORD = 2
/** A character of a script without spaces between words, or whose words are searched for by their parts. */
const SPACELESS = 3
/** A character that is a word by itself. */
const SYMBOL = 4
const SPACELESS_CHARACTER =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u
const WORD_CHARACTER = /[\p{L}\p{N}\p{M}]/u
const SYMBOL_CHARACTER = /[\p{Extended_Pictographic}\p{RI}]/u

/** The kind of each code point. 0 means that it was not looked up yet. */
const kinds = new Uint8Array(0x11_00_00)

function kindOf(code: number): number {
  return kinds[code] || (kinds[code] = findKind(String.fromCodePoint(code)))
}

function findKind(character: string): number {
  if (WORD_CHARACTER.test(character)) return SPACELESS_CHARACTER.test(character) ? SPACELESS : WORD
  return SYMBOL_CHARACTER.test(character) ? SYMBOL : SEPARATOR
}
