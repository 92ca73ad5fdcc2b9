import { type Token, Tokenizer, TokenizerMode } from 'parse5'
import { doAtOnce, type Steps } from '../../../kit/sliced-work.ts'

/** A link of a text in HTML. */
export interface HtmlLink {
  /** Bounds of the value of its `href`, without quotes. */
  start: number
  end: number
  /** The value, decoded, without white space around it. */
  url: string
}

/** The parts of an HTML text that matter to tracking. */
export interface HtmlPlaces {
  /** Links with an http or https URL, in their order. */
  links: HtmlLink[]
  /**
   * Position before the last `</body>`; without one, the end, or the beginning of an element that the end leaves open.
   */
  bodyEnd: number
}

/** Characters of one step. */
const STEP_LENGTH = 8192
/** Longer ones are left alone: a redirect would not fit into the header of an answer. */
const URL_LENGTH_MAX = 4096

/**
 * Elements whose content the HTML standard parses as text (section 13.2.6). `noscript` is not one of them: mail
 * programs run no scripts.
 */
const TEXT_MODES: Readonly<Record<string, Tokenizer['state']>> = {
  title: TokenizerMode.RCDATA,
  textarea: TokenizerMode.RCDATA,
  style: TokenizerMode.RAWTEXT,
  xmp: TokenizerMode.RAWTEXT,
  iframe: TokenizerMode.RAWTEXT,
  noembed: TokenizerMode.RAWTEXT,
  noframes: TokenizerMode.RAWTEXT,
  script: TokenizerMode.SCRIPT_DATA,
  plaintext: TokenizerMode.PLAINTEXT,
}
const LINK_TAGS = new Set(['a', 'area'])
const FOREIGN_TAGS = new Set(['svg', 'math'])
/** Tags that end an SVG image or a formula although it was not closed (section 13.2.6.5). */
const BREAKOUT_TAGS = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
    'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'
  ).split(' '),
)

/**
 * Reads HTML as browsers do, token by token. The time it takes grows with its length: up to a microsecond for each
 * character if a tag has thousands of attributes, much less otherwise.
 */
export function findPlaces(html: string): HtmlPlaces {
  return doAtOnce(findPlacesSteps(html))
}

/** Finds these parts in steps. */
export function* findPlacesSteps(html: string): Steps<HtmlPlaces> {
  const links: HtmlLink[] = []
  /** The innermost SVG image or formula; links in it belong to another language. */
  let foreign: string | null = null
  let lastBodyEnd: number | null = null
  /** The beginning of an element that would swallow additions after it. */
  let openSince: number | null = null
  let lastEnd = 0
  const pass = ({ location }: Token.Token) => {
    lastEnd = location?.endOffset ?? lastEnd
  }
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag(token) {
        const { tagName } = token
        if (foreign !== null && BREAKOUT_TAGS.has(tagName)) foreign = null
        if (foreign === null && FOREIGN_TAGS.has(tagName) && !token.selfClosing) foreign = tagName
        tokenizer.inForeignNode = foreign !== null
        const textMode = foreign === null ? TEXT_MODES[tagName] : undefined
        if (textMode !== undefined) {
          tokenizer.state = textMode
          openSince = token.location?.startOffset ?? null
        }
        const link = foreign === null && LINK_TAGS.has(tagName) ? linkOf(html, token) : null
        if (link) links.push(link)
        pass(token)
      },
      onEndTag(token) {
        if (token.tagName === foreign) foreign = null
        tokenizer.inForeignNode = foreign !== null
        openSince = null
        if (token.tagName === 'body') lastBodyEnd = token.location?.startOffset ?? null
        pass(token)
      },
      onParseError({ code }) {
        if (code.startsWith('eof-')) openSince ??= lastEnd
      },
      onComment: pass,
      onDoctype: pass,
      onCharacter: pass,
      onNullCharacter: pass,
      onWhitespaceCharacter: pass,
      onEof: () => undefined,
    },
  )
  for (let at = 0; at < html.length; at += STEP_LENGTH) {
    tokenizer.write(html.slice(at, at + STEP_LENGTH), false)
    yield
  }
  tokenizer.write('', true)
  return { links, bodyEnd: lastBodyEnd ?? openSince ?? html.length }
}

// The tokenizer gives the position of the attribute.
const VALUE = /^href[\t\n\f\r ]*=[\t\n\f\r ]*(["']?)/i

function linkOf(html: string, { attrs, location }: Token.TagToken): HtmlLink | null {
  const valueOf = (name: string) => attrs.find(attribute => attribute.name === name)?.value ?? null
  const href = valueOf('href')
  const url = href === null ? null : withoutSpaceAround(href)
  const place = location?.attrs?.['href']
  if (url === null || !place || valueOf('data-track')?.toLowerCase() === 'off') return null
  if (url.length > URL_LENGTH_MAX || !/^https?:/i.test(url) || !URL.canParse(url)) return null
  const [opening, quote = ''] = VALUE.exec(html.slice(place.startOffset, place.endOffset)) ?? []
  if (opening === undefined) return null
  return { start: place.startOffset + opening.length, end: place.endOffset - quote.length, url }
}

const SPACE = new Set('\t\n\f\r ')

function withoutSpaceAround(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && SPACE.has(text.charAt(start))) start++
  while (start < end && SPACE.has(text.charAt(end - 1))) end--
  return text.slice(start, end)
}
