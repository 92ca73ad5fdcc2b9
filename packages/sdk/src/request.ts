/** A request as all its tries send it. */
export interface Request {
  method: string
  url: string
  /** The same bytes in each try: the service compares them. */
  body: string | undefined
  /** The method and the path with names in place of ids, for messages: ids may be secrets. */
  name: string
  /** Whether a refusal may come after a part of the call was done: messages of a thread change one after the other. */
  mayHalfApply: boolean
  /** Whether the service takes an `Idempotency-Key`. */
  takesKey: boolean
  isDownload: boolean
  /** Milliseconds that the service was asked to wait before it answers. */
  waitMs: number
}

type Input = Readonly<Record<string, unknown>>

interface Operation {
  method: string
  path: string
  /** Names of the query that go beside a body. */
  beside: readonly string[]
  isList: boolean
  isDownload: boolean
}

/** Reads a line of `OPERATIONS`. */
export function parseOperation(line: string): Operation {
  const [method = '', target = '', kind] = line.split(' ')
  const [path = '', beside] = target.split('?')
  return { method, path, beside: beside?.split(',') ?? [], isList: kind === '*', isDownload: kind === '=' }
}

/** @throws TypeError for a value that no request can carry, before anything is sent */
export function toRequest(baseUrl: string, operation: Operation, input: Input = {}): Request {
  const { method, isDownload } = operation
  const inPath = new Set<string>()
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    return pathSegment(name, Object.hasOwn(input, name) ? input[name] : undefined)
  })
  const rest = Object.entries(input).filter(([name, value]) => !inPath.has(name) && value !== undefined)
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const isBeside = ([name]: [string, unknown]) => !hasBody || operation.beside.includes(name)
  const query = new URLSearchParams(rest.filter(isBeside).flatMap(queryValues)).toString()
  const given = Object.fromEntries(rest.filter(entry => !isBeside(entry)))
  const isEmpty = Object.keys(given).length === 0
  const waitSeconds = Number(input['waitSeconds'] ?? 0)
  return {
    method,
    url: `${baseUrl}/v1${path}${query && `?${query}`}`,
    name: `${method} /v1${operation.path}`,
    mayHalfApply: method !== 'GET' && operation.path.includes('/threads/'),
    body: hasBody && !isEmpty ? JSON.stringify(given) : undefined,
    // The keys belong to a credential, which hosted operations do not take.
    takesKey: method === 'POST' && !path.startsWith('/hosted/'),
    isDownload,
    waitMs: waitSeconds > 0 ? waitSeconds * 1000 : 0,
  }
}

/** An id as a segment of a path. What would lead to another path is refused: nothing, `.` and `..`. */
function pathSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id`)
  if (!value.isWellFormed()) throw new TypeError(`${name} has half a character`)
  return encodeURIComponent(value)
}

function queryValues([name, value]: [string, unknown]): [string, string][] {
  const values = Array.isArray(value) ? value : [value]
  // Without one, the service would take the list for absent.
  if (values.length === 0) throw new TypeError(`${name} must not be empty`)
  return values.map(each => {
    if (each === null || typeof each === 'object')
      throw new TypeError(`${name} must be a text, a number or a boolean`)
    const text = String(each)
    // Half a character would become another one on the way.
    if (!text.isWellFormed()) throw new TypeError(`${name} has half a character`)
    return [name, text]
  })
}
