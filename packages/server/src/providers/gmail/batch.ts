import { ProviderFailure } from '../failure.ts'
import type { AnswerHeaders } from '../http/exchange.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'

/* Batches of calls (developers.google.com/workspace/gmail/api/guides/batch): each part is an HTTP message. */

const BOUNDARY = 'waxwing_batch'
const LINE_END = '\r\n'

export function writeBatch(requests: ReadonlyArray<{ method: string; path: string; json?: unknown }>): {
  contentType: string
  body: string
} {
  const parts = requests.map(({ method, path, json }, index) => {
    const body = json === undefined ? '' : JSON.stringify(json)
    return [
      `--${BOUNDARY}`,
      'Content-Type: application/http',
      `Content-ID: <item-${index}>`,
      '',
      `${method} ${path}`,
      ...(body === ''
        ? []
        : ['Content-Type: application/json; charset=utf-8', `Content-Length: ${Buffer.byteLength(body)}`]),
      '',
      body,
      ...(body === '' ? [] : ['']),
    ].join(LINE_END)
  })
  return {
    contentType: `multipart/mixed; boundary=${BOUNDARY}`,
    body: `${parts.join('')}--${BOUNDARY}--${LINE_END}`,
  }
}

/**
 * The answers by the index of their request, which come in any order. Parts that name no request, or one that another
 * part answered, are left out.
 */
export function readBatch({ headers, content }: ProviderAnswer, count: number): Map<number, ProviderAnswer> {
  const type = headers['content-type']
  const boundary = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(
    typeof type === 'string' ? type : '',
  )
  const name = boundary?.[1] ?? boundary?.[2]
  if (name === undefined)
    throw new ProviderFailure('unavailable', 'Gmail answered a batch with something else.')
  const delimiter = Buffer.from(`--${name}`)
  const answers = new Map<number, ProviderAnswer>()
  let start = content.indexOf(delimiter)
  while (start >= 0 && answers.size < count) {
    const end = content.indexOf(delimiter, start + delimiter.length)
    if (end < 0) break
    const part = readPart(content.subarray(start + delimiter.length, end))
    if (part && part.index < count && !answers.has(part.index)) answers.set(part.index, part.answer)
    start = end
  }
  return answers
}

const EMPTY_LINE = /\r?\n\r?\n/

/** The header of a part is small; bytes beyond this are not read as one. */
const HEAD_BYTES_MAX = 8 * 1024

function readPart(part: Buffer): { index: number; answer: ProviderAnswer } | null {
  const outer = splitHead(part)
  const inner = outer && splitHead(outer.rest)
  if (!inner) return null
  const index = /^content-id:\s*<response-item-(\d{1,4})>\s*$/im.exec(outer.head)?.[1]
  const status = /^HTTP\/\d(?:\.\d)? (\d{3})\b/.exec(inner.head)?.[1]
  if (index === undefined || status === undefined) return null
  return {
    index: Number(index),
    answer: { status: Number(status), headers: readHeaders(inner.head), content: inner.rest },
  }
}

function splitHead(bytes: Buffer): { head: string; rest: Buffer } | null {
  // Latin-1, so that a position in the text is one in the bytes.
  const text = bytes.subarray(0, HEAD_BYTES_MAX).toString('latin1')
  const found = EMPTY_LINE.exec(text)
  if (!found) return null
  return {
    head: text.slice(0, found.index).trimStart(),
    rest: bytes.subarray(found.index + found[0].length),
  }
}

function readHeaders(head: string): AnswerHeaders {
  const fields = head.split(/\r?\n/).slice(1)
  return Object.fromEntries(
    fields.flatMap(field => {
      const at = field.indexOf(':')
      return at > 0 ? [[field.slice(0, at).trim().toLowerCase(), field.slice(at + 1).trim()]] : []
    }),
  )
}
