import { decodeEntities } from './entities.ts'
import { readTag, type Tag } from './html-text.ts'

/* The plain text that goes with HTML in a message that is written. */

/** Elements that stand on lines of their own, and whether an empty line sets them apart. */
const BLOCKS = new Map<string, boolean>([
  ...'address article aside center dd div dl dt fieldset figcaption figure footer form header li main nav section tr'
    .split(' ')
    .map(name => [name, false] as const),
  ...'blockquote h1 h2 h3 h4 h5 h6 hr ol p pre table ul'.split(' ').map(name => [name, true] as const),
])
/** Quotations and lists within one another; every line of them is indented. */
const DEPTH_MAX = 10
const RULE = '-'.repeat(20)

interface Writing {
  html: string
  done: string[]
  line: string
  /** Whether the line has more than what begins an item of a list. */
  isLineEmpty: boolean
  /** Line breaks before the next text. */
  gap: 0 | 1 | 2
  /** Blanks before the next text on the same line. */
  isSpaced: boolean
  quotes: number
  /** Level of quotation of the last text. */
  lastQuotes: number
  preformatted: number
  /** The next number of each open list; null: without numbers. */
  lists: Array<number | null>
  link: { href: string; from: number } | null
}

/** HTML as text: with its paragraphs, lists, quotations and the targets of its links. Linear, and never throws. */
export function htmlToText(html: string): string {
  const writing: Writing = {
    html,
    done: [],
    line: '',
    isLineEmpty: true,
    gap: 0,
    isSpaced: false,
    quotes: 0,
    lastQuotes: 0,
    preformatted: 0,
    lists: [],
    link: null,
  }
  for (let position = 0; position < html.length;) {
    const open = html.indexOf('<', position)
    writeText(writing, decodeEntities(html.slice(position, open < 0 ? html.length : open)))
    const tag = open < 0 ? null : readTag(html, open)
    if (!tag) break
    if (tag.name === '') writeText(writing, tag.text)
    else writeTag(writing, tag)
    position = tag.end
  }
  writing.done.push(writing.line)
  return writing.done.join('\n').trimEnd()
}

function writeText(writing: Writing, text: string): void {
  if (text === '') return
  if (writing.preformatted > 0) {
    for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
      if (index > 0) breakLine(writing)
      if (line !== '') put(writing, line)
    }
    return
  }
  // A no-break space is a character of its own in HTML; in text it is a blank.
  const words = text.replaceAll('\u{a0}', ' ').replaceAll(/[ \t\r\n\f]+/g, ' ')
  if (words.startsWith(' ')) writing.isSpaced = true
  const trimmed = words.trim()
  if (trimmed === '') return
  put(writing, trimmed)
  writing.isSpaced = words.endsWith(' ')
}

function put(writing: Writing, text: string): void {
  const isBlank = writing.done.length === 0 && writing.isLineEmpty && writing.line === ''
  if (writing.gap > 0 && !isBlank) {
    if (!writing.isLineEmpty || writing.line !== '') writing.done.push(writing.line)
    if (writing.gap === 2) writing.done.push(prefix(Math.min(writing.quotes, writing.lastQuotes)).trimEnd())
    begin(writing, '')
  }
  writing.gap = 0
  if (writing.line === '' && writing.isLineEmpty) writing.line = prefix(writing.quotes)
  if (writing.isSpaced && !writing.isLineEmpty) writing.line += ' '
  writing.isSpaced = false
  writing.isLineEmpty = false
  writing.lastQuotes = writing.quotes
  writing.line += text
}

function begin(writing: Writing, line: string): void {
  writing.line = line
  writing.isLineEmpty = true
  writing.isSpaced = false
}

function prefix(quotes: number): string {
  return '> '.repeat(quotes)
}

function breakLine(writing: Writing): void {
  // What was due before comes first.
  if (writing.gap > 0) put(writing, '')
  writing.done.push(
    writing.isLineEmpty && writing.line === '' ? prefix(writing.quotes).trimEnd() : writing.line,
  )
  begin(writing, '')
}

function askForGap(writing: Writing, gap: 1 | 2): void {
  // The text of an item follows its mark, whatever elements it is in.
  if (writing.isLineEmpty && writing.line !== '') return
  if (gap > writing.gap) writing.gap = gap
}

function writeTag(writing: Writing, tag: Tag): void {
  const { name, isOpening } = tag
  if (name === 'br') {
    breakLine(writing)
    return
  }
  const isApart = BLOCKS.get(name)
  if (name === 'li' && writing.line !== '') writing.isLineEmpty = false
  const isListEnd = !isOpening && (name === 'ul' || name === 'ol')
  const depth = writing.lists.length - (isListEnd ? 1 : 0)
  if (isApart !== undefined) askForGap(writing, isApart && depth <= 0 ? 2 : 1)
  if (name === 'a') writeLink(writing, tag)
  else if (name === 'td' || name === 'th') writing.isSpaced = true
  else if (name === 'img' && isOpening) writeText(writing, attribute(writing.html, tag, 'alt'))
  else if (name === 'hr') {
    put(writing, RULE)
    askForGap(writing, 2)
  } else if (name === 'blockquote') writing.quotes = step(writing.quotes, isOpening)
  else if (name === 'pre') writing.preformatted = step(writing.preformatted, isOpening)
  else if (name === 'ul' || name === 'ol') {
    if (!isOpening) writing.lists.pop()
    else if (writing.lists.length < DEPTH_MAX) writing.lists.push(name === 'ol' ? 1 : null)
  } else if (name === 'li' && isOpening) beginItem(writing)
}

function step(depth: number, isOpening: boolean): number {
  return Math.min(DEPTH_MAX, Math.max(0, depth + (isOpening ? 1 : -1)))
}

function beginItem(writing: Writing): void {
  const last = writing.lists.length - 1
  const number = writing.lists[last] ?? null
  if (number !== null) writing.lists[last] = number + 1
  put(writing, `${'  '.repeat(Math.max(0, last))}${number === null ? '-' : `${number}.`} `)
  writing.isLineEmpty = true
}

function writeLink(writing: Writing, tag: Tag): void {
  const { link } = writing
  if (tag.isOpening) {
    writing.link = { href: attribute(writing.html, tag, 'href').trim(), from: tag.end }
    return
  }
  writing.link = null
  if (!link || !/^(?:https?|mailto|tel):/i.test(link.href)) return
  const target = link.href.replace(/^(?:mailto|tel):/i, '')
  const shown = writing.line.trimEnd()
  if (shown.endsWith(target) || shown.endsWith(target.replace(/\/$/, ''))) return
  writing.isSpaced = true
  put(writing, `(${target})`)
}

const ATTRIBUTES_LENGTH_MAX = 8192

/** The value of an attribute; empty if it has none. */
function attribute(html: string, { nameEnd, close }: Tag, name: string): string {
  const attributes = html.slice(nameEnd, Math.min(close, nameEnd + ATTRIBUTES_LENGTH_MAX))
  for (const [, key, , double, single, bare] of attributes.matchAll(ATTRIBUTE)) {
    if (key!.toLowerCase() === name) return decodeEntities(double ?? single ?? bare ?? '')
  }
  return ''
}

const ATTRIBUTE = /([^\s=/>"']+)(\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
