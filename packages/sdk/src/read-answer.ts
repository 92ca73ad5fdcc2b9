import type { Answered, Download } from './call.ts'
import { errorOf, type Outcome } from './errors.ts'
import type { Request } from './request.ts'

/** A body that is no JSON, such as a page of a proxy, is shown up to here. */
const EXCERPT_MAX = 200

/** Reads an answer of the service, or of something on the way that answered in its place. */
export async function readAnswer(response: Response, request: Request): Promise<Answered<unknown>> {
  const { status, headers } = response
  if (status === 0 || (status >= 300 && status < 400)) {
    throw errorOf({
      code: 'redirected',
      message:
        'The answer is a redirect. None is followed, since the key would go to another address: correct baseUrl.',
      status: status || undefined,
      outcome: 'not_applied',
    })
  }
  if (response.ok && request.isDownload) return answered(response, toDownload(response))
  const text = await response.text()
  const body = parse(text)
  if (response.ok && body !== undefined) return answered(response, body.value)
  const requestId = headers.get('x-request-id') ?? undefined
  const retryAfterSeconds = secondsOf(headers.get('retry-after'))
  const refusal = body?.value
  if (!response.ok && isRefusal(refusal)) {
    const { code, message, defined, data } = refusal
    throw errorOf({
      code,
      message: code === 'not_found' && !defined ? olderService(request) : message,
      status,
      isDefined: defined === true,
      data,
      requestId,
      retryAfterSeconds,
      outcome: outcomeOf(status),
    })
  }
  throw errorOf({
    code: 'unreadable_answer',
    message: `The answer (status ${status}) is not one of Waxwing: ${excerpt(text)}`,
    status,
    requestId,
    retryAfterSeconds,
    outcome: outcomeOf(status),
  })
}

function olderService({ method, url }: Request): string {
  return `The service has no ${method} ${new URL(url).pathname}. It may be older than this client, or baseUrl may lack a path.`
}

/** 503 comes before anything is done; other statuses from 500 may come after it, and so may what is no answer of ours. */
function outcomeOf(status: number): Outcome {
  return (status >= 400 && status < 500) || status === 503 ? 'not_applied' : 'unknown'
}

function answered<T>({ status, headers }: Response, body: T): Answered<T> {
  const number = (name: string) => Number(headers.get(name))
  return {
    body,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    etag: headers.get('etag') ?? undefined,
    isReplayed: headers.get('idempotent-replayed') === 'true',
    rateLimit: headers.has('ratelimit-limit')
      ? {
          limit: number('ratelimit-limit'),
          remaining: number('ratelimit-remaining'),
          resetSeconds: number('ratelimit-reset'),
        }
      : undefined,
    headers,
  }
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

interface Refusal {
  code: string
  message: string
  defined?: boolean
  data?: unknown
}

function isRefusal(value: unknown): value is Refusal {
  return (
    typeof value === 'object' &&
    value !== null &&
    'code' in value &&
    typeof value.code === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  )
}

/** `Retry-After` in seconds or as a date; undefined if it is neither, or negative. */
function secondsOf(value: string | null): number | undefined {
  if (value === null) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000)
  return seconds >= 0 ? seconds : undefined
}

function excerpt(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  return line === '' ? 'it is empty' : line.slice(0, EXCERPT_MAX)
}

function toDownload(response: Response): Download {
  const { headers } = response
  const length = headers.get('content-length')
  // The length is that of what travels, which is another one if it is compressed.
  const size = length === null || headers.has('content-encoding') ? undefined : Number(length)
  const stream = (response.body ?? new ReadableStream()).pipeThrough(checkingSize(size))
  return {
    stream,
    contentType: headers.get('content-type') ?? undefined,
    size,
    bytes: async () => new Uint8Array(await new Response(stream).arrayBuffer()),
  }
}

function checkingSize(size: number | undefined): TransformStream<Uint8Array, Uint8Array> {
  let read = 0
  return new TransformStream({
    transform(piece, controller) {
      read += piece.length
      controller.enqueue(piece)
    },
    flush(controller) {
      if (size === undefined || read === size) return
      const message = `The download ended after ${read} of ${size} bytes.`
      controller.error(errorOf({ code: 'incomplete', message, outcome: 'not_applied' }))
    },
  })
}
