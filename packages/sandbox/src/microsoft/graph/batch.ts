import { z } from 'zod'
import type { Random } from '../../world/random.ts'
import { badRequest, GraphRefusal } from './errors.ts'

const PARTS_MAX = 20
/** Number of parts that run at the same time. */
const RUNNING_MAX = 4

const PartSchema = z.object({
  id: z.string().min(1),
  method: z
    .string()
    .toUpperCase()
    .pipe(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])),
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
  dependsOn: z.array(z.string()).optional(),
})

type Part = z.output<typeof PartSchema>

interface PartAnswer {
  id: string
  status: number
  headers?: Record<string, string>
  body?: unknown
}

/** Answers one part: a call like any other. */
export type ServePart = (request: Request) => Promise<Response>

/**
 * Answers a JSON batch: up to 20 calls in one, each with its own answer, in any order. A part waits for those that it
 * names in `dependsOn`, and is not run if one of them failed. Throws `GraphRefusal` for a batch that is wrong.
 */
export async function serveBatch(request: Request, servePart: ServePart, random: Random): Promise<object> {
  const parts = partsIn(await request.text())
  const answers = new Map<string, Promise<PartAnswer>>()
  const running = new Set<Promise<unknown>>()
  for (const part of parts) {
    const waited = (part.dependsOn ?? []).map(id => answers.get(id))
    answers.set(part.id, answerAfter(part, request, waited, servePart, running))
  }
  const responses = await Promise.all(answers.values())
  return { responses: shuffled(responses, random) }
}

async function answerAfter(
  part: Part,
  batch: Request,
  waited: (Promise<PartAnswer> | undefined)[],
  servePart: ServePart,
  running: Set<Promise<unknown>>,
): Promise<PartAnswer> {
  for (const one of waited) {
    const answer = await one
    if (answer && answer.status >= 400) return failedDependency(part.id)
  }
  while (running.size >= RUNNING_MAX) await Promise.race(running)
  const work = servePart(innerRequest(part, batch))
  running.add(work)
  try {
    return await presentAnswer(part.id, await work)
  } finally {
    running.delete(work)
  }
}

function partsIn(text: string): Part[] {
  const parsed = z.object({ requests: z.array(PartSchema).min(1) }).safeParse(jsonIn(text))
  if (!parsed.success) throw badRequest('Invalid batch payload format.')
  const { requests } = parsed.data
  if (requests.length > PARTS_MAX)
    throw badRequest(`Number of batch request steps exceeds the maximum value of ${PARTS_MAX}.`)
  const known = new Set<string>()
  for (const { id, url, headers = {}, body, dependsOn = [] } of requests) {
    if (!/^\/?[\w$]/.test(url) || /(?:^|\/)\.\.?(?:\/|$)|^\w+:/.test(url))
      throw badRequest(`Invalid URL in the batch: '${url}'.`)
    if (body !== undefined && !Object.keys(headers).some(name => name.toLowerCase() === 'content-type'))
      throw badRequest('A request with a body has to have a Content-Type.')
    if (known.has(id)) throw badRequest(`Request Id has to be unique in a batch: '${id}'.`)
    const missing = dependsOn.find(one => !known.has(one))
    if (missing !== undefined)
      throw badRequest(
        `Request '${id}' depends on '${missing}', which is not an earlier request of the batch.`,
      )
    known.add(id)
  }
  return requests
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest('Unable to read JSON request payload.')
  }
}

/** The call in a part. It uses the batch's token. */
function innerRequest({ method, url, headers = {}, body }: Part, batch: Request): Request {
  const inner = new Headers(headers)
  const token = batch.headers.get('authorization')
  if (token !== null) inner.set('authorization', token)
  const version = new URL(batch.url).pathname.split('/')[1] ?? ''
  const { pathname, search } = new URL(url.replace(/^\//, ''), `${new URL(batch.url).origin}/${version}/`)
  return new Request(new URL(pathname + search, batch.url), {
    method,
    headers: inner,
    ...(method !== 'GET' && body !== undefined && { body: bytesOf(body, inner) }),
  })
}

/** A body is a JSON value, or the base64 of other content. */
function bytesOf(body: unknown, headers: Headers): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string' && !/json/i.test(headers.get('content-type') ?? ''))
    return new Uint8Array(Buffer.from(body, 'base64'))
  return JSON.stringify(body)
}

async function presentAnswer(id: string, response: Response): Promise<PartAnswer> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const headers = Object.fromEntries(response.headers)
  const base = {
    id,
    status: response.status,
    ...(Object.keys(headers).length > 0 && { headers: titled(headers) }),
  }
  if (bytes.length === 0) return base
  const isJson = /json/i.test(response.headers.get('content-type') ?? '')
  return { ...base, body: isJson ? JSON.parse(bytes.toString('utf8')) : bytes.toString('base64') }
}

/** Names of headers as Graph writes them in batches. */
const titled = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.replaceAll(/\b[a-z]/g, letter => letter.toUpperCase()),
      value,
    ]),
  )

const failedDependency = (id: string): PartAnswer => {
  const { code, message, status } = new GraphRefusal(
    424,
    'FailedDependency',
    'The request is not executed because a request that it depends on failed.',
  )
  return { id, status, headers: { 'Content-Type': 'application/json' }, body: { error: { code, message } } }
}

/** Answers come in any order. */
function shuffled(answers: readonly PartAnswer[], random: Random): PartAnswer[] {
  const mixed = [...answers]
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = random.integer(at + 1)
    ;[mixed[at], mixed[other]] = [mixed[other] as PartAnswer, mixed[at] as PartAnswer]
  }
  return mixed
}
