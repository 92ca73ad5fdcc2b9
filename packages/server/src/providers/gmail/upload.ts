import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { beforeAcceptance, ProviderFailure, restate } from '../failure.ts'
import { readAnswer } from '../http/answers.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'
import { GMAIL_HOST, type GmailApi, segment } from './api.ts'
import { googleFailure } from '../google/failure.ts'
import { emptySchema } from './resources.ts'
import { UNITS } from './units.ts'

/**
 * Messages are uploaded as they are (developers.google.com/workspace/gmail/api/guides/uploads): small ones together
 * with their metadata, larger ones in a session of their own.
 */

/** The largest message that Gmail takes. */
export const MESSAGE_BYTES_MAX = 36_700_160
/** Up to this size a message is held in memory, so that one request is enough. Gmail takes 5 MB in this way. */
const TOGETHER_BYTES_MAX = 1024 * 1024
/** All pieces of a session except the last one are multiples of this size. */
const PIECE_BYTES = 256 * 1024
const UPLOAD_PATH = '/upload/gmail/v1/users/me/'
/** The hosts and paths to which Gmail may direct an upload. */
const SESSION_HOSTS = new Set([GMAIL_HOST, 'www.googleapis.com'])
const SESSION_PATH = /^\/(?:resumable\/)?upload\/gmail\/v1\/[\x21-\x7e]{1,4000}$/
/** An upload may take a minute, and a second for each of these bytes. */
const BYTES_PER_SECOND = 50_000
const CRLF = '\r\n'

export interface Upload<T> {
  method: 'POST' | 'PUT'
  /** Below the mailbox of the user, with its query. */
  path: string
  /** The metadata of the message, as the API takes it. */
  metadata: object
  /** The message, and exactly how many bytes it has. */
  content: { byteLength: number; open(): AsyncIterable<Uint8Array> }
  units: number
  schema: z.ZodType<T>
  /** Awaited directly before the request that has an effect. If it rejects, so does the upload, without any effect. */
  beforeEffect?: () => Promise<void>
  /** Ends the work before the effect. */
  signal?: AbortSignal | undefined
}

/** The content does not have the announced length. */
export class WrongLength extends Error {
  override name = 'WrongLength'
}

/**
 * The session is of no use any more, and the message was not accepted. Gmail answers the same if the thread of the
 * message is gone.
 */
class SessionLost extends ProviderFailure {
  constructor({ status }: ProviderAnswer) {
    super('unavailable', `Gmail lost the upload (${status}).`, { isBeforeAcceptance: true })
  }
}

/** Uploads a message to a thread. If that is gone, Gmail gives the message another one. */
export async function uploadToThread<T>(
  api: GmailApi,
  threadId: string | null,
  optionsFor: (threadId: string | null) => Upload<T>,
): Promise<T> {
  try {
    return await upload(api, optionsFor(threadId))
  } catch (error) {
    if (threadId === null || !(error instanceof ProviderFailure)) throw error
    const isGone =
      error.kind === 'not_found' ||
      (error instanceof SessionLost && !(await beforeAcceptance(() => hasThread(api, threadId))))
    if (!isGone) throw error
    return upload(api, optionsFor(null))
  }
}

async function hasThread(api: GmailApi, threadId: string): Promise<boolean> {
  try {
    await api.ask({
      path: `threads/${segment(threadId)}`,
      query: { format: 'minimal', fields: 'id' },
      units: UNITS.threadsGet,
      schema: emptySchema,
    })
    return true
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return false
    throw error
  }
}

/**
 * Uploads a message. Rejects with `ProviderFailure`, or with the error of `content` or `beforeEffect`; then nothing was
 * accepted.
 */
export async function upload<T>(api: GmailApi, options: Upload<T>): Promise<T> {
  const { byteLength } = options.content
  if (byteLength > MESSAGE_BYTES_MAX)
    throw new ProviderFailure('rejected', `Gmail takes messages of at most ${MESSAGE_BYTES_MAX} bytes.`)
  return byteLength > TOGETHER_BYTES_MAX ? uploadInSession(api, options) : uploadTogether(api, options)
}

async function uploadTogether<T>(api: GmailApi, options: Upload<T>): Promise<T> {
  const { method, path, metadata, content, units, schema, beforeEffect, signal } = options
  const boundary = `waxwing_${randomUUID()}`
  const head = [
    `--${boundary}`,
    'Content-Type: application/json; charset=utf-8',
    '',
    JSON.stringify(metadata),
    `--${boundary}`,
    'Content-Type: message/rfc822',
    '',
    '',
  ].join(CRLF)
  const pieces = await readAll(measured(content))
  const body = Buffer.concat([Buffer.from(head), ...pieces, Buffer.from(`${CRLF}--${boundary}--${CRLF}`)])
  signal?.throwIfAborted()
  const readied = await api.ready(units, { signal })
  await beforeEffect?.()
  const answer = await api.callReadied(
    {
      host: GMAIL_HOST,
      method,
      path: pathOf(path, 'multipart'),
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body,
      ...patience(body.length),
    },
    readied,
  )
  return readAnswer('Gmail', schema, answer.content)
}

/**
 * Uploads in two requests, of which only the second has an effect: by then the whole content was read. The outcome can
 * be looked up afterwards.
 */
async function uploadInSession<T>(api: GmailApi, options: Upload<T>): Promise<T> {
  const { content, schema, beforeEffect, signal } = options
  const { byteLength } = content
  const firstBytes = Math.floor((byteLength - 1) / PIECE_BYTES) * PIECE_BYTES
  const session = await beginSession(api, options)
  const reading = splitAt(measured(content), firstBytes)
  const put = (from: number, to: number, body: Uint8Array | AsyncIterable<Uint8Array>) =>
    api.send({
      ...session,
      method: 'PUT',
      headers: {
        'content-type': 'message/rfc822',
        'content-length': String(to - from),
        'content-range': `bytes ${from}-${to - 1}/${byteLength}`,
      },
      body,
      ...patience(byteLength),
      ...(to < byteLength && { signal }),
    })
  // Requests before the last byte of a message have no effect.
  const first = await beforeAcceptance(() => put(0, firstBytes, reading.first()))
  if (first.status !== INCOMPLETE) throw sessionFailure(first, api.now(), false)
  const rest = await reading.rest()
  signal?.throwIfAborted()
  await beforeEffect?.()
  const answer = await put(firstBytes, byteLength, rest).catch((error: unknown) =>
    askSession(api, session, byteLength, error),
  )
  if (answer.status !== 200) throw sessionFailure(answer, api.now(), true)
  return readAnswer('Gmail', schema, answer.content)
}

/** The failure for an answer that ends the upload. */
function sessionFailure(answer: ProviderAnswer, now: number, isLast: boolean): ProviderFailure {
  return LOST_SESSION.has(answer.status)
    ? new SessionLost(answer)
    : googleFailure('Gmail', answer, { now, isWrite: isLast })
}

/** The status of an upload that is not complete. */
const INCOMPLETE = 308
/** The session is gone, or lacks bytes that it was given. */
const LOST_SESSION = new Set([404, 410, INCOMPLETE])

interface Session {
  host: string
  path: string
}

async function beginSession<T>(
  api: GmailApi,
  { method, path, metadata, content, units, signal }: Upload<T>,
): Promise<Session> {
  const begin = () =>
    api.call(
      {
        host: GMAIL_HOST,
        method,
        path: pathOf(path, 'resumable'),
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'x-upload-content-type': 'message/rfc822',
          'x-upload-content-length': String(content.byteLength),
        },
        body: JSON.stringify(metadata),
        // An unused session has no effect.
        isRepeatable: true,
        signal,
      },
      units,
    )
  const { location } = (await beforeAcceptance(begin)).headers
  const url = typeof location === 'string' ? URL.parse(location) : null
  const at = url === null ? '' : url.pathname + url.search
  if (url === null || !SESSION_PATH.test(at))
    throw new ProviderFailure('unavailable', 'Gmail answered what the service does not understand.', {
      isBeforeAcceptance: true,
    })
  return { host: SESSION_HOSTS.has(url.hostname) ? url.hostname : GMAIL_HOST, path: at }
}

/** Looks up the outcome of an upload whose answer was lost. An incomplete upload had no effect, and never will have. */
async function askSession(
  api: GmailApi,
  session: Session,
  byteLength: number,
  lost: unknown,
): Promise<ProviderAnswer> {
  if (!(lost instanceof ProviderFailure) || lost.isBeforeAcceptance) throw lost
  const headers = { 'content-range': `bytes */${byteLength}`, 'content-length': '0' }
  const answer = await api.send({ ...session, method: 'PUT', headers }).catch(() => null)
  if (answer?.status === 200) return answer
  throw answer?.status === INCOMPLETE ? restate(lost, { isBeforeAcceptance: true }) : lost
}

/** The bytes of the content. Throws `WrongLength` if there are more or fewer than announced. */
async function* measured({ byteLength, open }: Upload<unknown>['content']): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of open()) {
    bytes += piece.length
    if (bytes > byteLength) break
    if (piece.length > 0) yield piece
  }
  if (bytes !== byteLength) throw new WrongLength('The message is not as long as it should be.')
}

/** Reads the bytes before a position, and then the ones behind it. */
function splitAt(content: AsyncGenerator<Uint8Array>, position: number) {
  let left: Uint8Array = new Uint8Array()
  return {
    async *first(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < position;) {
        const { value, done } = await content.next()
        if (done) return
        const taken = value.subarray(0, position - at)
        left = value.subarray(taken.length)
        at += taken.length
        yield taken
      }
    },
    rest: async () => Buffer.concat([left, ...(await readAll(content))]),
  }
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  return pieces
}

function pathOf(path: string, uploadType: string): string {
  return `${UPLOAD_PATH}${path}${path.includes('?') ? '&' : '?'}uploadType=${uploadType}`
}

function patience(bytes: number) {
  const seconds = 60 + Math.ceil(bytes / BYTES_PER_SECOND)
  return { firstByteSeconds: seconds, wholeSeconds: seconds }
}
