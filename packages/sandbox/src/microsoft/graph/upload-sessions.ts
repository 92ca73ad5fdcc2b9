import { Hono } from 'hono'
import type { HostApp, HostEnv } from '../../hosting/host-app.ts'
import { type Cloud, cloudOf } from '../clouds.ts'
import { addAttachment } from '../mailbox/draft-content.ts'
import { badRequest, errorResponse, GraphRefusal, itemNotFound } from './errors.ts'
import { objectIn } from './message-input.ts'
import { created, type GraphAnswer, type MethodCall } from './method.ts'
import { contextOf } from './odata/paging.ts'
import { requireDraft } from './require-draft.ts'
import type { UploadSession } from './upload-store.ts'
import { isDelegate, type Writing } from './writing.ts'

/**
 * Bytes of an attachment. A smaller one is posted whole, a larger one is refused. A request can hold a little less than
 * 3 MiB, so that the documented 3 MB are decimal.
 */
const SIZE_MIN = 3_000_000
const SIZE_MAX = 150 * 1024 * 1024

/** The length of every range but the last is a multiple of this. */
const RANGE_STEP = 320 * 1024
const RANGE_BYTES_MAX = 4 * 1024 * 1024

/** Opens a session by which an attachment comes in ranges, at a host that takes no access token. */
export function openUploadSession(call: MethodCall): GraphAnswer {
  const { mailbox, owner, graph } = call
  const { uploadHost: host } = cloudOf(owner)
  const message = requireDraft(call)
  const json = call.json()
  const item = objectIn(json['AttachmentItem'] ?? json['attachmentItem'], 'AttachmentItem')
  const text = (name: string) => (typeof item[name] === 'string' ? String(item[name]) : '')
  const size = item['size']
  if (text('attachmentType').toLowerCase() !== 'file' || text('name') === '' || !Number.isSafeInteger(size))
    throw badRequest('The attachment item is invalid.', 'ErrorInvalidRequest')
  if (Number(size) < SIZE_MIN)
    throw badRequest(
      'The attachment is smaller than what upload sessions take.',
      'ErrorAttachmentSizeShouldNotBeLessThanMinimumSize',
    )
  if (Number(size) > SIZE_MAX)
    throw badRequest('The attachment is too large.', 'ErrorAttachmentSizeLimitExceeded')
  if (host === null || (isDelegate(call) && graph.writing.settings.sharedUploads === 'fail'))
    throw new GraphRefusal(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.')
  const session = graph.writing.uploads.open({
    owner,
    mailbox,
    message,
    attachment: {
      kind: 'file',
      name: text('name'),
      contentType: text('contentType') || 'application/octet-stream',
      contentId: text('contentId') || null,
      isInline: item['isInline'] === true,
    },
    size: Number(size),
  })
  return created({
    '@odata.context': contextOf(call.url, 'microsoft.graph.uploadSession'),
    uploadUrl: `https://${host}${pathOf(session)}?authtoken=${session.token}`,
    expirationDateTime: new Date(session.expiresAt).toISOString(),
    nextExpectedRanges: ['0-'],
  })
}

const messagePath = ({ owner, message }: UploadSession): string =>
  `/api/gv1.0/users('${owner.id}')/messages('${message.immutableId}')`

const pathOf = (session: UploadSession): string =>
  `${messagePath(session)}/AttachmentSessions('${session.id}')`

/** Answers the host of the upload sessions of a cloud. */
export function uploadHost(writing: Writing, cloud: Cloud, now: () => number): HostApp {
  const app: HostApp = new Hono<HostEnv>()
  app.all('/api/gv1.0/*', async ({ req, env }) => {
    try {
      const session = requireSession(writing, cloud, req.raw)
      env.call.user = session.owner.email
      return await serve(writing, session, req.raw)
    } catch (error) {
      if (!(error instanceof GraphRefusal)) throw error
      return errorResponse(error, {
        at: now(),
        requestId: crypto.randomUUID(),
        clientRequestId: req.header('client-request-id') ?? null,
      })
    }
  })
  return app
}

function requireSession({ uploads }: Writing, cloud: Cloud, request: Request): UploadSession {
  // The URL alone proves that the client may upload; Exchange refuses a token besides it.
  if (request.headers.has('authorization'))
    throw new GraphRefusal(401, 'InvalidAuthenticationToken', 'An upload session takes no access token.')
  const { pathname, searchParams } = new URL(request.url)
  const id = /\/AttachmentSessions\('([^']*)'\)$/.exec(decodeURIComponent(pathname))?.[1]
  const session = uploads.find(id ?? '')
  if (!session || session.owner.cloud !== cloud.name) throw itemNotFound()
  if (searchParams.get('authtoken') !== session.token)
    throw new GraphRefusal(401, 'InvalidAuthenticationToken', 'The token of the upload session is invalid.')
  return session
}

async function serve(writing: Writing, session: UploadSession, request: Request): Promise<Response> {
  switch (request.method) {
    case 'GET':
      return status(session)
    case 'DELETE':
      writing.uploads.end(session.id)
      return new Response(null, { status: 204 })
    case 'PUT':
      return put(writing, session, request)
    default:
      throw new GraphRefusal(405, 'ErrorInvalidRequest', 'The OData request is not supported.')
  }
}

const status = ({ expiresAt, received }: UploadSession): Response =>
  Response.json({
    expirationDateTime: new Date(expiresAt).toISOString(),
    nextExpectedRanges: [String(received)],
  })

async function put(writing: Writing, session: UploadSession, request: Request): Promise<Response> {
  const bytes = Buffer.from(await request.arrayBuffer())
  takeRange(session, request.headers.get('content-range'), bytes)
  if (session.received < session.size) return status(session)
  const { mailbox, message, attachment } = session
  writing.uploads.end(session.id)
  if (mailbox.byId.get(message.immutableId) !== message || !message.isDraft) throw itemNotFound()
  const added = addAttachment(
    mailbox,
    message,
    { ...attachment, bytes: Buffer.concat(session.chunks) },
    () => `_000_${writing.unique()}_`,
  )
  const { host } = new URL(request.url)
  return new Response(null, {
    status: 201,
    headers: {
      location: `https://${host}${messagePath(session)}/Attachments('${added.id}')`,
    },
  })
}

function takeRange(session: UploadSession, range: string | null, bytes: Buffer): void {
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range ?? '') ?? []
  if (total === undefined)
    throw badRequest('The Content-Range header is missing or malformed.', 'ErrorInvalidRequest')
  if (bytes.length > RANGE_BYTES_MAX)
    throw new GraphRefusal(413, 'RequestEntityTooLarge', 'The request body is too large.')
  const [from, to] = [Number(first), Number(last)]
  if (Number(total) !== session.size || from !== session.received || to >= session.size)
    throw new GraphRefusal(
      416,
      'ErrorInvalidRange',
      `The range is not the next that is expected: ${session.received}-`,
    )
  if (to - from + 1 !== bytes.length)
    throw badRequest('The Content-Range does not fit the length of the body.', 'ErrorInvalidRequest')
  const isLast = to + 1 === session.size
  if (!isLast && bytes.length % RANGE_STEP !== 0)
    throw badRequest(`The length of a range has to be a multiple of ${RANGE_STEP}.`, 'ErrorInvalidRequest')
  session.chunks.push(bytes)
  session.received = to + 1
}
