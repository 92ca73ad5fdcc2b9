import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** Before the service has the request: `dropped`, `throttled`, `busy`. After it has answered: all others. */
const FAULTS = ['dropped', 'throttled', 'busy', 'lost', 'failed', 'late', 'cut'] as const
export type Fault = (typeof FAULTS)[number]
export const ANSWER_FAULTS: readonly Fault[] = FAULTS

/** The parts of an answer within which a `cut` breaks it off. */
const PARTS = ['status line', 'headers', 'empty line', 'first byte', 'body', 'last byte'] as const
export type Part = (typeof PARTS)[number]
export const ANSWER_PARTS: readonly Part[] = PARTS

export interface AnswerProxy extends AsyncDisposable {
  url: string
  /** How often each fault was, with the part of a cut. */
  counts: Map<string, number>
}

export interface AnswerProxyOptions {
  /** The address of the service, asked for each request. */
  target: () => string
  /** The fault of the next request; null for none. */
  draw: () => { fault: Fault; part: Part } | null
}

/** Stands between a client and the service, and breaks requests and answers. */
export async function startAnswerProxy({ target, draw }: AnswerProxyOptions): Promise<AnswerProxy> {
  const counts = new Map<string, number>()
  async function serve(incoming: IncomingMessage, answer: ServerResponse): Promise<unknown> {
    const body = await buffer(incoming)
    const { fault, part } = draw() ?? { fault: null, part: 'body' as const }
    const name = fault === 'cut' ? `cut in ${part}` : (fault ?? 'none')
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (fault === 'dropped') return answer.destroy()
    if (fault === 'throttled') return answer.writeHead(429, { 'retry-after': '0' }).end('Slow down')
    if (fault === 'busy') return answer.writeHead(503).end('<h1>Busy</h1>')
    const raw = await passOn(target(), incoming, body)
    if (fault === 'failed') return answer.writeHead(502).end('<h1>Bad gateway</h1>')
    // The client gives up before.
    if (fault === 'late') return answer.destroyed || once(answer, 'close')
    const socket = answer.socket
    if (fault === 'lost' || socket === null) return answer.destroy()
    if (fault !== 'cut') return socket.write(raw)
    return socket.end(raw.subarray(0, lengthUpTo(part, raw)), () => socket.destroy())
  }
  const server = createServer((incoming, answer) => {
    serve(incoming, answer).catch(() => answer.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** @returns the answer as it travels */
async function passOn(
  origin: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): Promise<Buffer> {
  const sent = new Headers()
  for (const name of ['authorization', 'content-type', 'idempotency-key', 'if-match', 'accept']) {
    const value = headers[name]
    if (typeof value === 'string') sent.set(name, value)
  }
  const answer = await fetch(`${origin}${url}`, {
    method: method ?? 'GET',
    headers: sent,
    ...(body.length > 0 ? { body } : {}),
  })
  const bytes = await answer.bytes()
  const named = [...answer.headers].filter(
    ([name]) => !/^(?:connection|keep-alive|transfer-encoding)$/.test(name),
  )
  const lines = named.flatMap(([name, value]) => (name === 'content-length' ? [] : [`${name}: ${value}`]))
  const head = [`HTTP/1.1 ${answer.status} ${answer.statusText}`, ...lines, `content-length: ${bytes.length}`]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes])
}

/** The bytes that still arrive of an answer that breaks off within a part. */
function lengthUpTo(part: Part, raw: Buffer): number {
  const line = raw.indexOf('\r\n')
  const head = raw.indexOf('\r\n\r\n') + 4
  const lengths: Record<Part, number> = {
    'status line': 5,
    headers: Math.floor((line + head) / 2),
    'empty line': head - 1,
    'first byte': head + 1,
    body: Math.floor((head + raw.length) / 2),
    'last byte': raw.length - 1,
  }
  return lengths[part]
}
