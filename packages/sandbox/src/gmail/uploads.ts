import type { Call } from '../world/calls.ts'
import { admit, answered, objectOf, run, type Admitted } from './api/serve.ts'
import { invalidArgument, notFound, tooLarge } from './api/refusal.ts'
import { parseParameters } from './mail/headers.ts'
import type { GmailState } from './state.ts'

const UPLOAD_BYTES_MAX = 36_700_160
const CHUNK_BYTES = 256 * 1024
const SESSION_MS = 7 * 24 * 3600 * 1000
const SESSIONS_MAX = 1_000
const PATH = /^\/(?:resumable\/)?upload\/gmail\/v1\/users\/([^/]+)\/(.+)$/

/** An upload that comes in pieces. */
interface Session {
  admitted: Admitted
  metadata: Record<string, unknown>
  /** Bytes in all, if the client has said. */
  total: number | null
  chunks: Buffer[]
  received: number
  expiresAt: number
}

export interface Uploads {
  readonly sessions: Map<string, Session>
}

export const openUploads = (): Uploads => ({ sessions: new Map() })

/** Answers a call below /upload: whole, with its metadata, or in pieces. */
export async function serveUpload(state: GmailState, request: Request, call: Call): Promise<Response> {
  return answered(async () => {
    const url = new URL(request.url)
    const sessionId = url.searchParams.get('upload_id')
    if (sessionId !== null) return resume(state, sessionId, request)
    const admitted = admit(state, request, call, PATH)
    if (admitted instanceof Response) return admitted
    if (!admitted.method.uploads) throw notFound('Method not found.')
    const type =
      url.searchParams.get('uploadType') ?? (url.pathname.startsWith('/resumable/') ? 'resumable' : 'media')
    if (type === 'resumable') return begin(state, admitted, request)
    const body = await bytesIn(request)
    const contentType = request.headers.get('content-type') ?? ''
    if (type === 'multipart') {
      const { metadata, media } = related(body, contentType)
      return run(state, admitted, metadata, media)
    }
    if (type !== 'media') throw invalidArgument(`Invalid upload type: ${type}`)
    requireMessageType(contentType)
    return run(state, admitted, {}, body)
  })
}

async function bytesIn(request: Request): Promise<Buffer> {
  const bytes = Buffer.from(await request.arrayBuffer())
  if (bytes.length > UPLOAD_BYTES_MAX)
    throw tooLarge(`Request is too large. The maximum is ${UPLOAD_BYTES_MAX} bytes.`)
  return bytes
}

function requireMessageType(contentType: string): void {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (!type.startsWith('message/'))
    throw invalidArgument(`Media type '${type}' is not supported. Valid media types: [message/*]`)
}

/** The two parts of a multipart/related upload: metadata in JSON, then the message. */
function related(body: Buffer, contentType: string): { metadata: Record<string, unknown>; media: Buffer } {
  const boundary = parseParameters(contentType).parameters.get('boundary')
  if (!boundary) throw invalidArgument('Missing boundary of the multipart body.')
  const parts = partsBetween(body, boundary)
  if (parts.length !== 2) throw invalidArgument('Multipart uploads must have two parts.')
  const [first, second] = parts.map(splitHead)
  if (!first || !second) throw invalidArgument('Multipart uploads must have two parts.')
  requireMessageType(/^content-type:\s*([^\r\n]*)/im.exec(second.head)?.[1] ?? '')
  const encoded = /^content-transfer-encoding:\s*base64/im.test(second.head)
  return {
    metadata: objectOf(first.body.toString('utf8')),
    media: encoded ? Buffer.from(second.body.toString('latin1'), 'base64') : second.body,
  }
}

/** The parts of a multipart body, each with its headers. */
export function partsBetween(body: Buffer, boundary: string): Buffer[] {
  const parts: Buffer[] = []
  const delimiter = Buffer.from(`--${boundary}`)
  let from = -1
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    if (at > 0 && body[at - 1] !== 10) continue
    if (from >= 0) parts.push(body.subarray(from, at - (body[at - 2] === 13 ? 2 : 1)))
    const lineEnd = body.indexOf(10, at)
    if (lineEnd < 0 || body.subarray(at + delimiter.length, at + delimiter.length + 2).toString() === '--')
      return parts
    from = lineEnd + 1
  }
  return parts
}

/** Parts a MIME part, or an HTTP message, at its first empty line. */
export function splitHead(part: Buffer): { head: string; body: Buffer } {
  const match = /\r?\n\r?\n/.exec(part.toString('latin1'))
  if (part[0] === 10 || (part[0] === 13 && part[1] === 10))
    return { head: '', body: part.subarray(part[0] === 10 ? 1 : 2) }
  if (!match) return { head: part.toString('latin1'), body: Buffer.alloc(0) }
  return {
    head: part.subarray(0, match.index).toString('latin1'),
    body: part.subarray(match.index + match[0].length),
  }
}

/** Opens a session. Its address takes the bytes, without a token. */
async function begin(state: GmailState, admitted: Admitted, request: Request): Promise<Response> {
  const type = request.headers.get('x-upload-content-type')
  if (type) requireMessageType(type)
  const total = lengthIn(request.headers.get('x-upload-content-length'))
  if (total !== null && total > UPLOAD_BYTES_MAX) throw tooLarge(`The maximum is ${UPLOAD_BYTES_MAX} bytes.`)
  const text = await request.text()
  const { clock, random } = state.ground
  const id = `ABg5-U${random.letters(60)}`
  const [oldest] = state.uploads.sessions.keys()
  if (state.uploads.sessions.size >= SESSIONS_MAX && oldest !== undefined)
    state.uploads.sessions.delete(oldest)
  state.uploads.sessions.set(id, {
    admitted,
    metadata: text === '' ? {} : objectOf(text),
    total,
    chunks: [],
    received: 0,
    expiresAt: clock.now() + SESSION_MS,
  })
  const address = new URL(request.url)
  address.searchParams.delete('access_token')
  address.searchParams.set('uploadType', 'resumable')
  address.searchParams.set('upload_id', id)
  return new Response(null, { headers: { location: address.href, 'x-guploader-uploadid': id } })
}

const lengthIn = (text: string | null): number | null =>
  text !== null && /^\d{1,12}$/.test(text) ? Number(text) : null

/** Takes a piece of an upload, or says how much has come. The last piece runs the method. */
async function resume(state: GmailState, id: string, request: Request): Promise<Response> {
  const session = state.uploads.sessions.get(id)
  if (!session || session.expiresAt < state.ground.clock.now()) throw notFound()
  if (request.method === 'DELETE') {
    state.uploads.sessions.delete(id)
    return new Response(null, { status: 499 })
  }
  const bytes = await bytesIn(request)
  const range = request.headers.get('content-range')
  if (range === null) session.total ??= session.received + bytes.length
  const { from, to } =
    range === null
      ? { from: session.received, to: session.received + bytes.length - 1 }
      : rangeIn(session, range)
  if (from !== null) takeChunk(session, from, to, bytes)
  if (session.received !== session.total) return incomplete(session)
  state.uploads.sessions.delete(id)
  return run(state, session.admitted, session.metadata, Buffer.concat(session.chunks))
}

/** The bytes that a Content-Range names, if any, once the length that it says is taken over. */
function rangeIn(session: Session, range: string): { from: number | null; to: number } {
  const [, from, to, total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(range) ?? []
  if (total === undefined) throw invalidArgument('Failed to parse Content-Range header.')
  if (total !== '*') session.total ??= Number(total)
  if (total !== '*' && Number(total) !== session.total)
    throw invalidArgument('Content-Range names another length than before.')
  return { from: from === undefined ? null : Number(from), to: Number(to) }
}

function takeChunk(session: Session, from: number, to: number, bytes: Buffer): void {
  if (from !== session.received)
    throw invalidArgument(`Invalid request. Expected the range to begin at ${session.received}.`)
  if (to - from + 1 !== bytes.length)
    throw invalidArgument('Content-Range does not fit the length of the body.')
  const last = session.total !== null && to + 1 === session.total
  if (!last && bytes.length % CHUNK_BYTES !== 0)
    throw invalidArgument(
      `Invalid request. The number of bytes uploaded is required to be a multiple of ${CHUNK_BYTES}.`,
    )
  if (to + 1 > Math.min(session.total ?? UPLOAD_BYTES_MAX, UPLOAD_BYTES_MAX))
    throw tooLarge('Too many bytes.')
  session.chunks.push(bytes)
  session.received = to + 1
}

const incomplete = ({ received }: Session): Response =>
  new Response(null, { status: 308, headers: received > 0 ? { range: `bytes=0-${received - 1}` } : {} })
