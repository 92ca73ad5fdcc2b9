import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'

/** A call to a host of a provider, as the proxy has seen it. */
export interface ProxiedCall {
  host: string
  method: string
  /** Path and query. */
  path: string
  headers: Readonly<Record<string, string>>
  body: string
  /** Milliseconds since 1970. */
  at: number
  isUnderWay: boolean
  /** Null if the caller went away before the answer. */
  status: number | null
}

/** Stands between processes of the service and a sandbox, and sees their calls to the hosts that it plays. */
export interface CallProxy extends AsyncDisposable {
  /** For the service, in place of the sandbox's. */
  readonly controlUrl: string
  readonly calls: readonly ProxiedCall[]
  /** Awaited before a call is passed on. */
  before: ((call: ProxiedCall) => Promise<unknown>) | null
  /** Called with each call, while it is under way. */
  onCall: ((call: ProxiedCall) => void) | null
}

/** Headers that belong to one connection. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host'])

export async function startCallProxy(sandbox: {
  controlUrl: string
  hosts: Readonly<Record<string, string>>
}): Promise<CallProxy> {
  await using opened = new AsyncDisposableStack()
  const calls: ProxiedCall[] = []
  const hosts: Record<string, string> = {}
  for (const [host, origin] of Object.entries(sandbox.hosts))
    hosts[host] = opened.use(
      await listen(async (incoming, answer) => {
        const body = await buffer(incoming)
        const call: ProxiedCall = {
          host,
          method: incoming.method ?? '',
          path: incoming.url ?? '',
          headers: headersOf(incoming),
          body: body.toString('latin1'),
          at: Date.now(),
          isUnderWay: true,
          status: null,
        }
        calls.push(call)
        answer.once('close', () => {
          call.isUnderWay = false
        })
        proxy.onCall?.(call)
        await proxy.before?.(call)
        call.status = await passOn(origin, incoming, body, answer)
      }),
    ).origin
  const control = opened.use(
    await listen(async (incoming, answer) => {
      if (incoming.url === '/hosts')
        return void answer.setHeader('content-type', 'application/json').end(JSON.stringify(hosts))
      await passOn(sandbox.controlUrl, incoming, await buffer(incoming), answer)
    }),
  )
  const owned = opened.move()
  const proxy: CallProxy = {
    controlUrl: control.origin,
    calls,
    before: null,
    onCall: null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  return proxy
}

/** @returns the status of the answer; null if the caller went away */
async function passOn(
  origin: string,
  incoming: IncomingMessage,
  body: Buffer,
  answer: ServerResponse,
): Promise<number | null> {
  if (answer.destroyed) return null
  const headers = { ...headersOf(incoming), 'content-length': String(body.byteLength) }
  const passed = request(`${origin}${incoming.url}`, { method: incoming.method, headers })
  answer.once('close', () => passed.destroy())
  passed.end(body)
  const [response] = (await once(passed, 'response')) as [IncomingMessage]
  answer.writeHead(response.statusCode ?? 502, headersOf(response))
  await pipeline(response, answer)
  return response.statusCode ?? null
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OF_CONNECTION.has(name) ? [] : [[name, String(value)]],
    ),
  )
}

async function listen(
  serve: (incoming: IncomingMessage, answer: ServerResponse) => Promise<void>,
): Promise<AsyncDisposable & { origin: string }> {
  const server = createServer((incoming, answer) => {
    // The caller sees a broken connection, and the test its failure.
    serve(incoming, answer).catch(() => answer.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
