import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** The answer at one URL: a body, or a function. */
export type Page = string | ((request: IncomingMessage, response: ServerResponse) => void)

export interface HttpsServer extends AsyncDisposable {
  port: number
  /** Pages by host and path, such as `autoconfig.own.test/mail/config-v1.1.xml`. May be changed at any time. */
  pages: Record<string, Page>
  /** Every request, as `GET autoconfig.own.test/mail/config-v1.1.xml?a=b`. */
  requests: string[]
  connections: number
  /** Number of connections that are open. */
  open: number
}

/**
 * Starts a web server on loopback for many names, with a certificate of `makeCertificates`. Answers 404 for unknown
 * pages.
 */
export async function startHttpsServer(certificates: string): Promise<HttpsServer> {
  const server = createServer({
    key: await readFile(join(certificates, 'server.key')),
    cert: await readFile(join(certificates, 'server.crt')),
  })
  const https: HttpsServer = {
    port: 0,
    pages: {},
    requests: [],
    connections: 0,
    open: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  server.on('connection', socket => {
    https.connections += 1
    https.open += 1
    socket.once('close', () => (https.open -= 1))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const host = request.headers.host?.replace(/:\d+$/, '') ?? ''
    https.requests.push(`${request.method} ${host}${request.url}`)
    const page = https.pages[host + (request.url ?? '').replace(/\?.*$/, '')]
    if (typeof page === 'function') return page(request, response)
    response.statusCode = page === undefined ? 404 : 200
    response.end(page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that has just been bound to a TCP port has an AddressInfo.
  https.port = (server.address() as AddressInfo).port
  return https
}
