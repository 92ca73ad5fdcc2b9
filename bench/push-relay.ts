import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** Passes what a provider posts on to the service. */
export interface PushRelay extends AsyncDisposable {
  origin: string
  /** Time of the last push, by `performance.now()`. */
  noticedAt: number
  forwardTo(address: string): void
}

/** The headers of a push that its receiver reads. */
const PASSED = /^(?:authorization|content-type|x-goog-.*)$/

export async function startPushRelay(): Promise<PushRelay> {
  let target = ''
  const server = createServer(async (request, response) => {
    const noticedAt = performance.now()
    const passed = Object.entries(request.headers).filter(([name]) => PASSED.test(name))
    const url = new URL(request.url ?? '/', target)
    // A provider that only asks whether the address is right has a query.
    if (url.search === '') relay.noticedAt = noticedAt
    const answer = await fetch(url, {
      method: 'POST',
      headers: Object.fromEntries(passed.map(([name, value]) => [name, String(value)])),
      body: await buffer(request),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(await answer.text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay: PushRelay = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    noticedAt: 0,
    forwardTo: address => void (target = address),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return relay
}
