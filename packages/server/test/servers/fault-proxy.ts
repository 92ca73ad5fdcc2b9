import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { FaultLink } from './fault-link.ts'

/** Faults that a fault proxy adds to the bytes that pass. All are off by default, and may be changed at any time. */
export interface LinkFaults {
  /** Delays everything, in each direction. */
  latencyMs?: number
  /**
   * Holds what goes in these directions, ends of connections included, as a network does that loses packets: it arrives
   * once the stall is over, unless the sender has given up.
   */
  stalled?: 'both' | 'to_server' | 'to_client'
  /** Cuts each new connection after this number of bytes from the server. */
  cutAfterBytes?: number
  /** Accepts connections, and never passes a byte of those that come meanwhile. */
  isSilent?: boolean
  /** Closes new connections at once. */
  isRefusing?: boolean
}

/** A connection to the proxy. */
export interface FaultedConnection {
  number: number
  clientPort: number
  /** The port of the proxy. */
  serverPort: number
}

export interface FaultProxyOptions {
  /** Called with a connection before a byte of it passes. */
  onConnect?: (connection: FaultedConnection) => void
  /** Called with the bytes of a client, as they arrive. */
  onClientBytes?: (connection: FaultedConnection, bytes: Buffer) => void
  /** Called when the client has closed its end or lost it. */
  onClientClosed?: (connection: FaultedConnection) => void
}

/** A TCP proxy on loopback that interprets no protocol. */
export interface FaultProxy extends AsyncDisposable {
  readonly host: string
  readonly port: number
  readonly openCount: number
  /** Replaces all faults at once. */
  setFaults(faults: LinkFaults): void
  /** Resets every connection, at both ends. */
  cutAll(): void
}

/** A TCP address, or the path of a unix socket. */
export type ProxyTarget = { host: string; port: number } | { path: string }

/** @param target called with each connection if it is a function */
export async function startFaultProxy(
  target: ProxyTarget | (() => ProxyTarget),
  options: FaultProxyOptions = {},
): Promise<FaultProxy> {
  const links = new Set<FaultLink>()
  let faults: LinkFaults = {}
  let connections = 0
  const server = createServer({ allowHalfOpen: true }, client => {
    if (faults.isRefusing === true) return void client.resetAndDestroy()
    const [clientPort, serverPort] = [client.remotePort ?? 0, client.localPort ?? 0]
    const connection = { number: ++connections, clientPort, serverPort }
    options.onConnect?.(connection)
    const link = new FaultLink(client, connectTo(typeof target === 'function' ? target() : target), {
      faults: () => faults,
      onClientBytes: bytes => options.onClientBytes?.(connection, bytes),
      onClientClosed: () => options.onClientClosed?.(connection),
      onGone: () => links.delete(link),
    })
    links.add(link)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  const proxy: FaultProxy = {
    host: '127.0.0.1',
    port,
    get openCount() {
      return links.size
    },
    setFaults(changed) {
      faults = changed
      for (const link of links) link.resume()
    },
    cutAll() {
      for (const link of links) link.cut()
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      proxy.cutAll()
      await closed
    },
  }
  return proxy
}

function connectTo(target: ProxyTarget): Socket {
  return connect({ ...target, allowHalfOpen: true })
}
