import type { ImapResponse } from 'imapflow/lib/handler/types.js'
import { LITERAL_BYTES_MAX } from './expected-answers.ts'
import type { ImapAttributeList } from './values.ts'

/** Maximum length of an answer's text. `cutAnswer` judges longer ones. */
const TEXT_BYTES_MAX = 4096
/** imapflow refuses lists that are nested a little more deeply. */
const DEPTH_MAX = 20
const ASTERISK = 0x2a
const LINE_FEED = 0x0a

/** The size of a literal that follows a line (RFC 9051 section 4.3). */
const LITERAL = /\{0*(0|[1-9]\d{0,18})\}\r?\n$/
/** The end of an unfinished line that may become such a size. */
const LITERAL_BEGUN = /\{0*(?:[1-9]\d{0,18})?\}?\r?$/

/** The answer in progress, while it may be one to read. Nothing of it has been passed on. */
interface Held {
  /** All its bytes so far. */
  pieces: Buffer[]
  /** Its complete lines. */
  text: string
  /** The pieces of each literal. */
  literals: Buffer[][]
  literalBytes: number
}

/**
 * Reads the FETCH answers of a server, in a fraction of the time that imapflow takes for them. Everything else is
 * passed on to imapflow: all other answers, and FETCH answers that are too long or written in an unusual way.
 */
export class FetchReader {
  readonly #isWanted: () => boolean
  #held: Held | null = null
  #isBetweenAnswers = true
  /** The unfinished line; only its end if nothing is held. */
  #line = ''
  #literalBytesLeft = 0

  /** @param isWanted whether FETCH answers are to be read now; called when all yielded parts have been handled */
  constructor(isWanted: () => boolean) {
    this.#isWanted = isWanted
  }

  /** Yields the answers that were read, in the form that imapflow gives them, and in between the bytes to pass on. */
  *read(chunk: Buffer): Generator<ImapResponse | Buffer, void> {
    let from = 0
    for (let at = 0; at < chunk.length;) {
      if (this.#isBetweenAnswers && chunk[at] === ASTERISK && this.#isWanted()) {
        if (from < at) yield chunk.subarray(from, at)
        from = at
        // The part that was passed on may have ended the command.
        if (this.#isWanted()) this.#held = { pieces: [], text: '', literals: [], literalBytes: 0 }
      }
      const piece = this.#nextPiece(chunk, at)
      at += piece.length
      this.#held?.pieces.push(piece)
      this.#isBetweenAnswers = this.#follow(piece)
      if (!this.#held) continue
      const { pieces, text, literals } = this.#held
      const isTooLong = this.#isTooLong(this.#held)
      if (!this.#isBetweenAnswers && !isTooLong) continue
      this.#held = null
      from = at
      const answer = isTooLong ? null : readFetch(text, literals)
      if (answer) yield answer
      else yield* pieces
    }
    if (!this.#held && from < chunk.length) yield chunk.subarray(from)
  }

  /** Up to the end of the line, the literal or the chunk. */
  #nextPiece(chunk: Buffer, at: number): Buffer {
    if (this.#literalBytesLeft > 0) return chunk.subarray(at, at + this.#literalBytesLeft)
    const lineFeed = chunk.indexOf(LINE_FEED, at)
    return chunk.subarray(at, lineFeed < 0 ? chunk.length : lineFeed + 1)
  }

  /** @returns whether the answer ends with this piece */
  #follow(piece: Buffer): boolean {
    const held = this.#held
    if (this.#literalBytesLeft > 0) {
      this.#literalBytesLeft -= piece.length
      held?.literals.at(-1)?.push(piece)
      return false
    }
    const line = this.#line + piece.toString('latin1')
    if (!line.endsWith('\n')) {
      // The zeros before a number can be many.
      this.#line = held ? line : (LITERAL_BEGUN.exec(line)?.[0].replace(/^\{0+/, '{0') ?? '')
      return false
    }
    this.#line = ''
    if (held) held.text += line
    const size = LITERAL.exec(line)?.[1]
    if (size === undefined) return true
    this.#literalBytesLeft = Number(size)
    if (held) {
      held.literals.push([])
      held.literalBytes += this.#literalBytesLeft
    }
    return false
  }

  #isTooLong({ text, literalBytes }: Held): boolean {
    return text.length + this.#line.length > TEXT_BYTES_MAX || literalBytes > LITERAL_BYTES_MAX
  }
}

const BEGIN = /\* (\d{1,9}) FETCH (?=\()/y
/**
 * A token of a FETCH answer: a parenthesis, a string, the size of a literal, `BODY[]` with its offset, or an atom. It is
 * narrower than RFC 9051 section 9: strings are ASCII without escapes, and atoms have only characters with no meaning.
 */
const TOKEN =
  / *(?:([()])|"([^"\\\r\n\u0080-\u00ff]*)"|(\{(?:0|[1-9]\d*)\}\r\n)|(BODY\[\])(?:<(0|[1-9]\d*)>)?(?= )|(\\?[\w!#$&'+./=@^|-]+)(?=[ )]))/y

/**
 * @param text the lines of an answer, without its literals
 * @returns null if it is not a FETCH answer, or is written in an unusual way
 */
function readFetch(text: string, literals: readonly Buffer[][]): ImapResponse | null {
  BEGIN.lastIndex = 0
  const command = BEGIN.exec(text)?.[1]
  if (command === undefined) return null
  const attributes: ImapAttributeList = [{ type: 'ATOM', value: 'FETCH' }]
  const outer: ImapAttributeList[] = []
  let list = attributes
  let literalsRead = 0
  TOKEN.lastIndex = BEGIN.lastIndex
  for (;;) {
    const token = TOKEN.exec(text)
    if (!token) return null
    const [, parenthesis, string, literal, content, offset, atom] = token
    if (parenthesis === '(') {
      if (outer.push(list) > DEPTH_MAX) return null
      const inner: ImapAttributeList = []
      list.push(inner)
      list = inner
    } else if (parenthesis === ')') {
      list = outer.pop()!
      if (list !== attributes) continue
      return text.slice(TOKEN.lastIndex) === '\r\n' ? { tag: '*', command, attributes } : null
    } else if (string !== undefined) list.push({ type: 'STRING', value: string })
    else if (literal !== undefined)
      list.push({ type: 'LITERAL', value: Buffer.concat(literals[literalsRead++] ?? []) })
    else if (content !== undefined)
      list.push({ type: 'ATOM', value: 'BODY', section: [], ...(offset && { partial: [Number(offset)] }) })
    else if (atom !== undefined) list.push(/^nil$/i.test(atom) ? null : { type: 'ATOM', value: atom })
  }
}
