import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createEmulator } from 'emulate'

/** Gmail as another project imitates it. */
export interface EmulatedGmail extends AsyncDisposable {
  readonly hosts: Readonly<Record<string, string>>
  readonly origin: string
}

interface Call {
  method: string
  /** Path and query. */
  path: string
  authorization: string
  contentType: string
  body: Buffer
}

interface Answer {
  status: number
  contentType: string
  body: string
}

const HOST = 'gmail.googleapis.com'
const SCOPES = ['https://mail.google.com/']
const ME = '/gmail/v1/users/me/'
const JSON_TYPE = 'application/json; charset=utf-8'
/** Above every history id that the emulator gives. */
const LAST_HISTORY_ID = '9'.repeat(24)
/** The emulator's history ids have 21 digits, which 64 bits cannot hold. They all begin with these. */
const CENTURY = String(Date.now()).slice(0, 2)

/**
 * Starts npm's `emulate` for users, whose tokens are their addresses, behind a server that adds what Google documents and
 * the emulator lacks: users.getProfile, history ids of 64 bits, batches, uploads with metadata, and the upload of a draft's
 * new content (developers.google.com/workspace/gmail/api/guides/{batch,uploads}, reference/rest/v1/users.drafts/update).
 */
export async function startEmulate(emails: readonly string[]): Promise<EmulatedGmail> {
  await using opened = new AsyncDisposableStack()
  const emulator = await createEmulator({
    service: 'google',
    port: await freePort(),
    seed: {
      tokens: Object.fromEntries(emails.map(email => [email, { login: email, scopes: SCOPES }])),
      google: { users: emails.map(email => ({ email, name: email })) },
    },
  })
  opened.defer(() => emulator.close())
  const server = createServer((request, response) => {
    // A request may break off, or be overtaken by the end of the emulator.
    answerRequest(emulator.url, request, response).catch(() => void response.destroy())
  })
  opened.defer(() => close(server))
  const origin = `http://127.0.0.1:${await listen(server)}`
  const owned = opened.move()
  return { origin, hosts: { [HOST]: origin }, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function answerRequest(
  origin: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const answer = await answerTo(origin, {
    method,
    path: url,
    authorization: headers.authorization ?? '',
    contentType: headers['content-type'] ?? '',
    body: await buffer(request),
  })
  response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.body)
}

async function answerTo(origin: string, call: Call): Promise<Answer> {
  const { pathname, searchParams } = new URL(call.path, origin)
  if (pathname === '/batch/gmail/v1') return answerBatch(origin, call)
  if (pathname === `${ME}profile`) return answerProfile(origin, call)
  if (searchParams.get('uploadType') === 'multipart') return forward(origin, withoutUpload(call, pathname))
  return forward(origin, call)
}

async function forward(
  origin: string,
  { method, path, authorization, contentType, body }: Call,
): Promise<Answer> {
  const asked = path.replace(/(startHistoryId=)(\d{1,19})\b/, `$1${CENTURY}$2`)
  const response = await fetch(new URL(asked, origin), {
    method,
    headers: { authorization, ...(contentType && { 'content-type': contentType }) },
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  })
  return {
    status: response.status,
    contentType: response.headers.get('content-type') ?? JSON_TYPE,
    body: (await response.text()).replaceAll(/("(?:historyId|id)":")\d\d(\d{19}")/g, '$1$2'),
  }
}

async function answerProfile(origin: string, call: Call): Promise<Answer> {
  const path = `${ME}history?startHistoryId=${LAST_HISTORY_ID}`
  const answer = await forward(origin, { ...call, path })
  const { historyId } = JSON.parse(answer.body) as { historyId: string }
  const emailAddress = call.authorization.replace('Bearer ', '')
  return { ...answer, body: JSON.stringify({ emailAddress, historyId }) }
}

/** The same without an upload: the message in base64 beside its metadata. */
function withoutUpload(call: Call, pathname: string): Call {
  const [metadata, message] = partsOf(call).map(({ content }) => content)
  const said = JSON.parse(metadata!.toString()) as { message?: object }
  const raw = message!.toString('base64url')
  const isDraft = pathname.includes('/drafts')
  const json = isDraft ? { ...said, message: { ...said.message, raw } } : { ...said, raw }
  return {
    ...call,
    path: pathname.replace('/upload', ''),
    contentType: JSON_TYPE,
    body: Buffer.from(JSON.stringify(json)),
  }
}

async function answerBatch(origin: string, call: Call): Promise<Answer> {
  const parts = partsOf(call).map(({ head, content }) => {
    const { head: request, rest: body } = splitHead(content)
    const [method = '', path = ''] = request.split(/\s/)
    const id = /^content-id: <(.*)>$/im.exec(head)?.[1] ?? ''
    return { id, call: { method, path, authorization: call.authorization, contentType: JSON_TYPE, body } }
  })
  const answered: string[] = []
  for (const { id, call: part } of parts) {
    const { status, contentType, body } = await answerTo(origin, part)
    const lines = [
      '--answers',
      'Content-Type: application/http',
      `Content-ID: <response-${id}>`,
      '',
      `HTTP/1.1 ${status} Answer`,
      `Content-Type: ${contentType}`,
      '',
      body,
    ]
    answered.push(lines.join('\r\n'))
  }
  return {
    status: 200,
    contentType: 'multipart/mixed; boundary=answers',
    body: [...answered, '--answers--', ''].join('\r\n'),
  }
}

/** The parts of a multipart body. */
function partsOf({ contentType, body }: Call): Array<{ head: string; content: Buffer }> {
  const boundary = /boundary=([^;]+)/.exec(contentType)?.[1] ?? ''
  // Latin-1 keeps every byte.
  const texts = body.toString('latin1').split(`--${boundary}`).slice(1, -1)
  return texts.map(text => {
    const { head, rest } = splitHead(Buffer.from(text.replace(/^\r\n/, '').replace(/\r\n$/, ''), 'latin1'))
    return { head, content: rest }
  })
}

function splitHead(bytes: Buffer): { head: string; rest: Buffer } {
  const at = bytes.indexOf('\r\n\r\n')
  if (at < 0) return { head: bytes.toString('latin1'), rest: Buffer.alloc(0) }
  return { head: bytes.toString('latin1', 0, at).replaceAll('\r\n', '\n'), rest: bytes.subarray(at + 4) }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise(resolve => void server.close(resolve))
}

/** The emulator takes no port 0. */
async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  await close(server)
  return port
}
