import { collapseText } from './text.ts'
import { decodeEntities } from './entities.ts'

/**
 * Elements whose content is not text. `head` is not one of them: its elements without text are listed here, and HTML
 * ends it at anything else, closed or not. Mail programs run no scripts, so `noscript` is shown; `xml` is data for
 * Outlook.
 */
const SKIPPED = ['style', 'script', 'title', 'template', 'svg', 'math', 'object', 'xml']
const ENDS = new Map(SKIPPED.map(name => [name, new RegExp(`</${name}`, 'gi')]))
/** Elements that leave no gap between their content and the text around it. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code del dfn em font i ins kbd label mark o q s samp small span strike strong sub sup tt u var wbr'.split(
    ' ',
  ),
)
const COLLAPSE_FROM = 800

/** The first `lengthWanted` or more characters of text that a browser would show of (a piece of) HTML. Linear. */
export function htmlText(html: string, lengthWanted: number): string {
  let text = ''
  let raw = ''
  for (const piece of shownPieces(html)) {
    raw += piece
    if (raw.length <= COLLAPSE_FROM) continue
    text = collapseText(`${text}${raw}`)
    // Collapsing drops a blank at the edge, but the next piece of text may need it.
    if (/\s$/.test(raw)) text += ' '
    raw = ''
    if (text.length >= lengthWanted) break
  }
  return collapseText(`${text}${raw}`)
}

/** The text of a whole document up to `lengthMax`, with its white space unchanged. */
export function htmlWords(html: string, lengthMax: number): string {
  const pieces: string[] = []
  let length = 0
  for (const piece of shownPieces(html)) {
    pieces.push(piece)
    length += piece.length
    if (length >= lengthMax) break
  }
  return pieces.join('').slice(0, lengthMax)
}

/** The text that is shown, with blanks between blocks. */
function* shownPieces(html: string): Generator<string> {
  for (let position = 0; position < html.length;) {
    const open = html.indexOf('<', position)
    yield decodeEntities(html.slice(position, open < 0 ? html.length : open))
    if (open < 0) return
    const tag = readTag(html, open)
    if (!tag) return
    yield tag.text
    position = tag.end
  }
}

/** A tag, comment or declaration, or a sign that is none of them. */
export interface Tag {
  /** The text that it leaves: a blank, nothing, or the sign itself. */
  text: string
  /** Lower-cased; empty for what is no element. */
  name: string
  isOpening: boolean
  /** The start and the end of its attributes. */
  nameEnd: number
  close: number
  /** The end of the element, or of what it hides. */
  end: number
}

/** The tag at `open`; null if it does not end. */
export function readTag(html: string, open: number): Tag | null {
  if (html.startsWith('<!--', open)) {
    const end = html.indexOf('-->', open + 4)
    return end < 0 ? null : noElement('', end + 3)
  }
  let nameEnd = open + 1
  if (html.charCodeAt(nameEnd) === 47) nameEnd++
  const nameStart = nameEnd
  while (nameEnd - nameStart < 20 && isNameCode(html.charCodeAt(nameEnd))) nameEnd++
  const sign = html.charCodeAt(nameStart)
  if (nameEnd === nameStart && sign !== 33 && sign !== 63) return noElement('<', open + 1)
  const close = html.indexOf('>', nameEnd)
  if (close < 0) return null
  const name = html.slice(nameStart, nameEnd).toLowerCase()
  const isOpening = nameStart === open + 1
  const hiddenEnd = isOpening ? ENDS.get(name) : undefined
  const isHiding = hiddenEnd !== undefined && html.charCodeAt(close - 1) !== 47
  const end = isHiding ? skipElement(html, hiddenEnd, close + 1) : close + 1
  if (end === null) return null
  const text = INLINE.has(name) && !isHiding ? '' : ' '
  return { text, name, isOpening, nameEnd, close, end }
}

function noElement(text: string, end: number): Tag {
  return { text, name: '', isOpening: false, nameEnd: end, close: end, end }
}

/** The position after an element without text. */
function skipElement(html: string, end: RegExp, from: number): number | null {
  end.lastIndex = from
  return end.exec(html)?.index ?? null
}

function isNameCode(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 58)
}
