import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ChangeEvent } from '@waxwing/contract/events.ts'

/** A webhook as it arrived. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
  event: ChangeEvent
}

/** Answers one webhook. */
export type Temper = (response: ServerResponse, request: IncomingMessage, received: Received) => void

export interface Receiver extends AsyncDisposable {
  url: string
  port: number
  /** Everything that arrived, in this order. */
  received: Received[]
  /** Ids of the events that arrived at a path. */
  idsAt(path: string): string[]
  /** How each path answers; others answer 200. May be changed at any time. */
  tempers: Record<string, Temper>
  /** Requests without an answer: now, and the most there were at the same time. */
  open: { now: number; max: number }
  connections: number
}

export const answering =
  (status: number, headers: Record<string, string> = {}): Temper =>
  response =>
    void response.writeHead(status, headers).end()

/** Starts a receiver of webhooks on loopback, for plain HTTP. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    port: 0,
    received: [],
    idsAt: path => receiver.received.flatMap(one => (one.path === path ? [one.event.id] : [])),
    tempers: {},
    open: { now: 0, max: 0 },
    connections: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  const server = createServer(async (request, response) => {
    receiver.open.now++
    receiver.open.max = Math.max(receiver.open.max, receiver.open.now)
    response.on('close', () => receiver.open.now--)
    // A request that breaks off, as when its sender is killed, has not arrived.
    const body = await text(request).catch(() => null)
    if (body === null) return
    const path = request.url ?? '/'
    // Tests compare the requests as the service posted them.
    const received = { path, headers: request.headers, body, event: JSON.parse(body) as ChangeEvent }
    receiver.received.push(received)
    const temper = receiver.tempers[path] ?? answering(200)
    temper(response, request, received)
  })
  server.on('connection', () => receiver.connections++)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  // A server that has just been bound to a TCP port has an AddressInfo.
  receiver.port = (server.address() as AddressInfo).port
  receiver.url = `http://127.0.0.1:${receiver.port}`
  return receiver
}
