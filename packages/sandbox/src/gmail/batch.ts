import type { Accounts } from '../google/accounts.ts'
import { authenticate } from '../google/authenticate.ts'
import type { Call } from '../world/calls.ts'
import type { Random } from '../world/random.ts'
import { answered } from '../google/api/json-calls.ts'
import { invalidArgument } from '../google/api/refusal.ts'
import { parseParameters } from '../mail/headers.ts'
import type { GmailParts } from './parts.ts'
import { partsBetween, splitHead } from './uploads/multipart.ts'

const PARTS_MAX = 100

/** Answers one part: a call like any other. */
export type ServePart = (request: Request) => Promise<Response>

/** Answers a batch: up to 100 calls in one, each with its own answer, in any order. */
export async function serveBatch(
  { settings, random }: GmailParts,
  accounts: Accounts,
  request: Request,
  call: Call,
  servePart: ServePart,
): Promise<Response> {
  return answered(async () => {
    const boundary = parseParameters(request.headers.get('content-type') ?? '').parameters.get('boundary')
    if (!boundary) throw invalidArgument('Failed to parse batch request, error: missing boundary.')
    const parts = partsBetween(Buffer.from(await request.arrayBuffer()), boundary)
    if (parts.length === 0) throw invalidArgument('Failed to parse batch request, error: 0 items in batch.')
    if (parts.length > PARTS_MAX)
      throw invalidArgument(`The batch request exceeds the limit of ${PARTS_MAX} calls.`)
    const token = request.headers.get('authorization')
    if (token !== null) {
      const caller = authenticate(accounts, request, call)
      if (caller instanceof Response) return caller
    }
    const answers: string[] = []
    for (const part of parts) {
      const { contentId, inner } = innerRequest(part, request, token)
      answers.push(await partText(contentId, await servePart(inner)))
    }
    if (settings.shuffledBatches) shuffle(answers, random)
    const name = `batch_${random.letters(28)}`
    const body = `${answers.map(answer => `--${name}\r\n${answer}\r\n`).join('')}--${name}--\r\n`
    return new Response(body, { headers: { 'content-type': `multipart/mixed; boundary=${name}` } })
  })
}

/** The call in a part. It uses the batch's token unless it brings its own. */
function innerRequest(
  part: Buffer,
  batch: Request,
  token: string | null,
): { contentId: string | null; inner: Request } {
  const outer = splitHead(part)
  const contentId = /^content-id:\s*([^\r\n]*)/im.exec(outer.head)?.[1]?.trim() ?? null
  const { head, body } = splitHead(outer.body)
  const [first = '', ...lines] = head.split(/\r?\n/)
  const [, method, target = ''] = /^([A-Z]+) (\S+)(?: HTTP\/1\.[01])?$/.exec(first.trim()) ?? []
  if (method === undefined)
    throw invalidArgument('Failed to parse batch request, error: invalid request line.')
  const headers = new Headers(token === null ? {} : { authorization: token })
  for (const line of lines) {
    const [, name, value = ''] = /^([!-9;-~]+):\s*(.*)$/.exec(line) ?? []
    if (name !== undefined && !/^content-length$/i.test(name)) headers.set(name, value)
  }
  const { pathname, search } = new URL(target, batch.url)
  const withBody = method !== 'GET' && body.length > 0
  const inner = new Request(new URL(pathname + search, batch.url), {
    method,
    headers,
    ...(withBody && { body: new Uint8Array(body) }),
  })
  return { contentId, inner }
}

async function partText(contentId: string | null, response: Response): Promise<string> {
  const body = await response.text()
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
  return [
    'Content-Type: application/http',
    ...(contentId === null ? [] : [`Content-ID: ${answerId(contentId)}`]),
    '',
    `HTTP/1.1 ${response.status} ${response.statusText || reasonOf(response.status)}`,
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}

/** The Content-ID of an answer: that of the call, after `response-`. */
const answerId = (contentId: string): string =>
  contentId.startsWith('<') ? `<response-${contentId.slice(1)}` : `response-${contentId}`

const reasonOf = (status: number): string =>
  ({
    200: 'OK',
    204: 'No Content',
    400: 'Bad Request',
    401: 'Unauthorized',
    403: 'Forbidden',
    404: 'Not Found',
    429: 'Too Many Requests',
  })[status] ?? 'Status'

function shuffle(answers: string[], random: Random): void {
  for (let at = answers.length - 1; at > 0; at -= 1) {
    const other = random.integer(at + 1)
    ;[answers[at], answers[other]] = [answers[other] as string, answers[at] as string]
  }
}
