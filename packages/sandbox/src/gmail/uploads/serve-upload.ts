import type { Call } from '../../world/calls.ts'
import { admit, type Admission, type Admitted } from '../api/admission.ts'
import { invalidArgument, notFound, tooLarge } from '../../google/api/refusal.ts'
import { answered, objectOf } from '../../google/api/json-calls.ts'
import { run } from '../api/serve.ts'
import { parseParameters } from '../../mail/headers.ts'
import type { GmailParts } from '../parts.ts'
import { partsBetween, splitHead } from './multipart.ts'
import { addBytes, type Session, type Sessions, UPLOAD_BYTES_MAX } from './sessions.ts'

const PATH = /^\/(?:resumable\/)?upload\/gmail\/v1\/users\/([^/]+)\/(.+)$/

/** Answers a call below /upload: whole, with its metadata, or in pieces. */
export async function serveUpload(
  gmail: GmailParts,
  admission: Admission,
  sessions: Sessions,
  request: Request,
  call: Call,
): Promise<Response> {
  return answered(async () => {
    const url = new URL(request.url)
    const sessionId = url.searchParams.get('upload_id')
    if (sessionId !== null) return resume(gmail, sessions, sessionId, request)
    const admitted = admit(admission, request, call, PATH)
    if (admitted instanceof Response) return admitted
    if (!admitted.method.uploads) throw notFound('Method not found.')
    const type =
      url.searchParams.get('uploadType') ?? (url.pathname.startsWith('/resumable/') ? 'resumable' : 'media')
    if (type === 'resumable') return begin(sessions, admitted, request)
    const body = await bytesIn(request)
    const contentType = request.headers.get('content-type') ?? ''
    if (type === 'multipart') {
      const { metadata, media } = related(body, contentType)
      return run(gmail, admitted, metadata, media)
    }
    if (type !== 'media') throw invalidArgument(`Invalid upload type: ${type}`)
    requireMessageType(contentType)
    return run(gmail, admitted, {}, body)
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

/** Opens a session. Its address takes the bytes, without a token. */
async function begin(sessions: Sessions, admitted: Admitted, request: Request): Promise<Response> {
  const type = request.headers.get('x-upload-content-type')
  if (type) requireMessageType(type)
  const total = lengthIn(request.headers.get('x-upload-content-length'))
  if (total !== null && total > UPLOAD_BYTES_MAX) throw tooLarge(`The maximum is ${UPLOAD_BYTES_MAX} bytes.`)
  const text = await request.text()
  const id = sessions.open({ admitted, metadata: text === '' ? {} : objectOf(text), total })
  const address = new URL(request.url)
  address.searchParams.delete('access_token')
  address.searchParams.set('uploadType', 'resumable')
  address.searchParams.set('upload_id', id)
  return new Response(null, { headers: { location: address.href, 'x-guploader-uploadid': id } })
}

const lengthIn = (text: string | null): number | null =>
  text !== null && /^\d{1,12}$/.test(text) ? Number(text) : null

/** Takes a piece of an upload, or answers how much has come. The last piece runs the method. */
async function resume(
  gmail: GmailParts,
  sessions: Sessions,
  id: string,
  request: Request,
): Promise<Response> {
  const session = sessions.require(id)
  if (request.method === 'DELETE') {
    sessions.end(id)
    return new Response(null, { status: 499 })
  }
  addBytes(session, request.headers.get('content-range'), await bytesIn(request))
  if (session.received !== session.total) return incomplete(session)
  sessions.end(id)
  return run(gmail, session.admitted, session.metadata, Buffer.concat(session.chunks))
}

const incomplete = ({ received }: Session): Response =>
  new Response(null, { status: 308, headers: received > 0 ? { range: `bytes=0-${received - 1}` } : {} })
