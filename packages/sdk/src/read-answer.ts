import type { Answered, Download } from './call.ts'
import { errorOf } from './errors.ts'
import type { Request } from './request.ts'

/** A body that is no JSON, such as a page of a proxy, is shown up to here. */
const EXCERPT_MAX = 200

/** The call that a download belongs to. */
export interface Caller {
  signal: AbortSignal | undefined
  /** Called when nothing more comes. */
  end(): void
}

/** Reads an answer of the service, or of something on the way that answered in its place. */
export async function readAnswer(
  response: Response,
  request: Request,
  caller: Caller,
): Promise<Answered<unknown>> {
  const { status, headers } = response
  if (status === 0 || (status >= 300 && status < 400)) {
    await response.body?.cancel().catch(() => {})
    throw errorOf({
      code: 'redirected',
      message:
        'The answer is a redirect. None is followed, since the key would go to another address: correct baseUrl.',
      status: status || undefined,
      outcome: 'not_applied',
    })
  }
  if (response.ok && request.isDownload) return answered(response, toDownload(response, caller), undefined)
  const text = await response.text()
  const body = parse(text)
  if (response.ok && body !== undefined) return answered(response, body.value, text)
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
      outcome: 'unknown',
    })
  }
  throw errorOf({
    code: 'unreadable_answer',
    message: `The answer (status ${status}) is not one of Waxwing: ${excerpt(text)}`,
    status,
    requestId,
    retryAfterSeconds,
    outcome: 'unknown',
  })
}

function olderService({ name }: Request): string {
  return `The service has no ${name}. It may be older than this client, or baseUrl may lack a path.`
}

function answered<T>({ status, headers }: Response, body: T, text: string | undefined): Answered<T> {
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
    text,
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
  const line = text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    // A page for debugging may show the request with its key.
    .replaceAll(/\b(wk|wat)_[\w-]+/g, '$1_…')
    .trim()
  return line === '' ? 'it is empty' : line.slice(0, EXCERPT_MAX)
}

function toDownload({ body, headers }: Response, caller: Caller): Download {
  const length = headers.get('content-length')
  // The length is that of what travels, which is another one if it is compressed.
  const size = length === null || headers.has('content-encoding') ? undefined : Number(length)
  const stream = body === null ? emptyStream(caller) : checkedStream(body.getReader(), size, caller)
  return {
    stream,
    contentType: headers.get('content-type') ?? undefined,
    size,
    bytes: async () => new Uint8Array(await new Response(stream).arrayBuffer()),
  }
}

function emptyStream({ end }: Caller): ReadableStream<Uint8Array> {
  end()
  return new ReadableStream({ start: controller => controller.close() })
}

/** A stream that fails unless all of it came. */
function checkedStream(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  size: number | undefined,
  { signal, end }: Caller,
): ReadableStream<Uint8Array> {
  let read = 0
  const incomplete = (cause?: unknown) => {
    const message = `The download ended after ${read}${size === undefined ? '' : ` of ${size}`} bytes.`
    return errorOf({ code: 'incomplete', message, outcome: 'not_applied', cause })
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) {
          read += value.length
          return controller.enqueue(value)
        }
        end()
        if (size === undefined || read === size) controller.close()
        else controller.error(incomplete())
      } catch (error) {
        end()
        controller.error(signal?.aborted ? signal.reason : incomplete(error))
      }
    },
    async cancel(reason) {
      end()
      await reader.cancel(reason)
    },
  })
}
