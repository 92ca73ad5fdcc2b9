/** An error that Graph answers. */
export class GraphRefusal extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

export const badRequest = (message: string, code = 'BadRequest'): GraphRefusal =>
  new GraphRefusal(400, code, message)

export const itemNotFound = (): GraphRefusal =>
  new GraphRefusal(404, 'ErrorItemNotFound', 'The specified object was not found in the store.')

/** An id that cannot be one of this mailbox. */
export const malformedId = (): GraphRefusal => badRequest('Id is malformed.', 'ErrorInvalidIdMalformed')

export const folderExists = (): GraphRefusal =>
  new GraphRefusal(409, 'ErrorFolderExists', 'A folder with the specified name already exists.')

export const accessDenied = (): GraphRefusal =>
  new GraphRefusal(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.')

/** A path or a function that this cloud does not have. */
export const unknownSegment = (segment: string): GraphRefusal =>
  badRequest(`Resource not found for the segment '${segment}'.`)

/** A delta link that has expired. The highest generation is that of the newest link of its query. */
export const syncStateNotFound = (generation: number, highest: number): GraphRefusal =>
  new GraphRefusal(
    410,
    'SyncStateNotFound',
    `The sync state generation is not found; generation=${generation};[highest=${highest}][${highest}].`,
  )

export interface ErrorIds {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly requestId: string
  readonly clientRequestId: string | null
}

/** The answer to a call that is refused. */
export function errorResponse(refusal: GraphRefusal, { at, requestId, clientRequestId }: ErrorIds): Response {
  const innerError = {
    date: new Date(at).toISOString().slice(0, 19),
    'request-id': requestId,
    'client-request-id': clientRequestId ?? requestId,
  }
  const body = { error: { code: refusal.code, message: refusal.message, innerError } }
  return new Response(JSON.stringify(body), {
    status: refusal.status,
    headers: { 'content-type': 'application/json', ...refusal.headers },
  })
}
