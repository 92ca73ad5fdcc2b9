import { ProviderFailure } from '../failure.ts'
import { serverText } from '../server-text.ts'

/** RFC 5321 section 4.5.3.1.5 allows 512; some servers send longer ones. */
const LINE_BYTES_MAX = 8192
/** A server with every known extension has about 30. */
const REPLY_LINES_MAX = 100

/** RFC 5321 section 4.2, with any second digit: servers in use answer with 571, for example. */
const REPLY_LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/s
/** RFC 2034 section 4; the class equals the reply's. */
const ENHANCED = /^([245])\.(\d{1,3})\.(\d{1,3})(?= |$)/

export interface Reply {
  code: number
  /** The text after the code, for each line. */
  lines: string[]
}

/** The answer is not SMTP, so its words are not shown. */
export class NotSmtp extends Error {
  override name = 'NotSmtp'
}

/** Cuts the bytes of a server into replies. Holds at most one unfinished reply, which has a bound. */
export class ReplyReader {
  #rest: Buffer = Buffer.alloc(0)
  #lines: string[] = []
  #code = 0

  /** Whether a reply has begun that is not complete. */
  get hasRest(): boolean {
    return this.#rest.length > 0 || this.#lines.length > 0
  }

  /** Yields each reply that the chunk completes. Throws `NotSmtp`, or `ProviderFailure` for a reply without end. */
  *read(chunk: Buffer): Generator<Reply, void, void> {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = Buffer.alloc(0)
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a)) {
      if (end > LINE_BYTES_MAX) throw tooMuch()
      const reply = this.#takeLine(bytes.toString('utf8', 0, end).replace(/\r$/, ''))
      bytes = bytes.subarray(end + 1)
      if (reply) yield reply
    }
    if (bytes.length > LINE_BYTES_MAX) throw tooMuch()
    this.#rest = bytes
  }

  #takeLine(line: string): Reply | null {
    const [, digits, mark, text = ''] = REPLY_LINE.exec(line) ?? []
    if (digits === undefined) throw new NotSmtp('a line without a reply code')
    const code = Number(digits)
    // RFC 5321 section 4.2.1: all lines of a reply have the same code.
    if (this.#lines.length > 0 && code !== this.#code) throw new NotSmtp('a reply with two codes')
    if (this.#lines.length === REPLY_LINES_MAX) throw tooMuch()
    this.#code = code
    this.#lines.push(text)
    if (mark === '-') return null
    const reply = { code, lines: this.#lines }
    this.#lines = []
    return reply
  }
}

export function tooMuch(): ProviderFailure {
  return new ProviderFailure('unavailable', 'The server sends more than was asked for.')
}

/** The enhanced status code of a reply; without one `4.0.0` or `5.0.0`, by the class of the reply. */
export function statusOf({ code, lines }: Reply): string {
  const status = ENHANCED.exec(lines[0] ?? '')
  const group = Math.floor(code / 100)
  return status && Number(status[1]) === group ? status[0] : `${group}.0.0`
}

/** A reply for people, in the server's words. */
export function wordsOf({ code, lines }: Reply): string {
  return serverText(`${code} ${lines.join(' ')}`)
}
