import { doAtOnce, type Steps } from '../sliced-work.ts'
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
/** Characters and tags of one step. */
const STEP_LENGTH = 8192
const STEP_TAGS = 256
/** The longest reference of a character. A text is not cut within one. */
const ENTITY_LENGTH_MAX = 40

interface Writing {
  html: string
  done: string[]
  /** The pieces of the line, none of them empty: to join them for every link would take too long. */
  line: string[]
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
  return doAtOnce(htmlToTextSteps(html))
}

/** The same in steps. */
export function* htmlToTextSteps(html: string): Steps<string> {
  const writing: Writing = {
    html,
    done: [],
    line: [],
    isLineEmpty: true,
    gap: 0,
    isSpaced: false,
    quotes: 0,
    lastQuotes: 0,
    preformatted: 0,
    lists: [],
    link: null,
  }
  for (let position = 0, tags = 0; position < html.length;) {
    const open = findTag(html, position)
    for (let end; position < open; position = end) {
      end = endOfStep(html, position, open)
      writeText(writing, decodeEntities(html.slice(position, end)))
      if (end < open) yield
    }
    const tag = open < html.length ? readTag(html, open) : null
    if (!tag) break
    if (tag.name === '') writeText(writing, tag.text)
    else writeTag(writing, tag)
    position = tag.end
    if (++tags % STEP_TAGS === 0) yield
  }
  writing.done.push(writing.line.join(''))
  return writing.done.join('\n').trimEnd()
}

/** The position of the next sign that begins a tag, a comment or a declaration; the length if there is none. */
function findTag(html: string, from: number): number {
  TAG_START.lastIndex = from
  return TAG_START.exec(html)?.index ?? html.length
}

/** Start of everything that `readTag` does not take to be text. */
const TAG_START = /<(?:[a-z0-9:!?]|\/[a-z0-9:!?])/gi

/** The end of a piece of text, which is not within a reference of a character or between CR and LF. */
function endOfStep(html: string, from: number, textEnd: number): number {
  const end = from + STEP_LENGTH
  if (end >= textEnd) return textEnd
  const reference = html.lastIndexOf('&', end - 1)
  if (reference > end - ENTITY_LENGTH_MAX && reference > from) return reference
  return html[end - 1] === '\r' ? end - 1 : end
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
  const isBlank = writing.done.length === 0 && writing.isLineEmpty && writing.line.length === 0
  if (writing.gap > 0 && !isBlank) {
    if (!writing.isLineEmpty || writing.line.length > 0) writing.done.push(writing.line.join(''))
    if (writing.gap === 2) writing.done.push(prefix(Math.min(writing.quotes, writing.lastQuotes)).trimEnd())
    beginLine(writing)
  }
  writing.gap = 0
  if (writing.line.length === 0 && writing.isLineEmpty) add(writing, prefix(writing.quotes))
  if (writing.isSpaced && !writing.isLineEmpty) add(writing, ' ')
  writing.isSpaced = false
  writing.isLineEmpty = false
  writing.lastQuotes = writing.quotes
  add(writing, text)
}

function add(writing: Writing, text: string): void {
  if (text !== '') writing.line.push(text)
}

function beginLine(writing: Writing): void {
  writing.line = []
  writing.isLineEmpty = true
  writing.isSpaced = false
}

function prefix(quotes: number): string {
  return '> '.repeat(quotes)
}

function breakLine(writing: Writing): void {
  // A gap that was due before comes first.
  if (writing.gap > 0) put(writing, '')
  const isEmpty = writing.isLineEmpty && writing.line.length === 0
  writing.done.push(isEmpty ? prefix(writing.quotes).trimEnd() : writing.line.join(''))
  beginLine(writing)
}

function askForGap(writing: Writing, gap: 1 | 2): void {
  // The text of an item follows its mark, whatever elements it is in.
  if (writing.isLineEmpty && writing.line.length > 0) return
  if (gap > writing.gap) writing.gap = gap
}

function writeTag(writing: Writing, tag: Tag): void {
  const { name, isOpening } = tag
  if (name === 'br') {
    breakLine(writing)
    return
  }
  const isApart = BLOCKS.get(name)
  if (name === 'li' && writing.line.length > 0) writing.isLineEmpty = false
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
  const shown = lineEnd(writing, target.length + BLANKS_MAX).trimEnd()
  if (shown.endsWith(target) || shown.endsWith(target.replace(/\/$/, ''))) return
  writing.isSpaced = true
  put(writing, `(${target})`)
}

/** Blanks after the text of a link. */
const BLANKS_MAX = 64

/** The end of the line, with at least so many characters. */
function lineEnd({ line }: Writing, length: number): string {
  let from = line.length
  for (let left = length; left > 0 && from > 0;) left -= line[--from]!.length
  return line.slice(from).join('')
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
