import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as it came. */
export interface Seen {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

/** Answers a request, or breaks its connection. */
export type Reply = (response: ServerResponse, seen: Seen, request: IncomingMessage) => unknown

/** A service that answers one request after the other with these replies; the last one also answers all after it. */
export async function openOddService(...replies: Reply[]) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    text(request).then(
      async body => {
        const { method = '', url = '', headers } = request
        const one = { method, url, headers, body }
        seen.push(one)
        await replies[Math.min(seen.length, replies.length) - 1]?.(response, one, request)
      },
      () => response.destroy(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** An answer as the service writes it. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return response =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r-1', ...headers })
      .end(JSON.stringify(body))
}

/** A refusal as the service writes it. */
export function refusal(code: string, status: number, headers: Record<string, string> = {}): Reply {
  return json({ defined: true, code, status, message: `Refused: ${code}.` }, status, headers)
}

/** Takes the request, and breaks the connection without an answer. */
export const breakOff: Reply = response => response.destroy()
