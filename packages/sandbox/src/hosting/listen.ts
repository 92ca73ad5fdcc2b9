import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'

export interface Listening extends AsyncDisposable {
  readonly port: number
}

/** Longer than clients keep connections that they do not use. */
const KEEP_ALIVE_MS = 120_000

/** Serves HTTP at a port; 0 chooses a free one. Dispose cuts the connections that are open. */
export async function listen(
  answer: (request: Request, env: HttpBindings) => Response | Promise<Response>,
  port: number,
  host: string,
): Promise<Listening> {
  const server = createServer(
    getRequestListener((request, env) => answer(request, env as HttpBindings), {
      overrideGlobalObjects: false,
    }),
  )
  // A client that takes a kept connection again at the moment at which the server closes it sees its call fail.
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
