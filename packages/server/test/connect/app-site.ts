import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** The tenant's own web site, on another host than the service. It sends people to links, and takes them back. */
export interface AppSite extends AsyncDisposable {
  /** With the host `localhost`, which is another site than that of the service, 127.0.0.1. */
  origin: string
  /** Where people come back to. */
  redirectUri: string
  /** Every request: its path with the query, and the referrer. */
  requests: { url: string; referer: string | null }[]
  /** HTML by path, for pages of a test. */
  pages: Map<string, string>
}

export async function openAppSite(): Promise<AppSite> {
  const requests: AppSite['requests'] = []
  const pages = new Map<string, string>()
  const server = createServer((request: IncomingMessage, answer) => {
    const { url = '/', headers } = request
    requests.push({ url, referer: headers.referer ?? null })
    const body =
      pages.get(url) ?? '<!doctype html><title>The app</title><link rel="icon" href="data:,"><h1>Back</h1>'
    answer.writeHead(200, { 'content-type': 'text/html' }).end(body)
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `http://localhost:${port}`
  return {
    origin,
    redirectUri: `${origin}/connected?tab=mail`,
    requests,
    pages,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
