import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** A port that leads to another one on this machine. */
export interface TcpDoor extends AsyncDisposable {
  readonly port: number
  /** The bytes that clients have sent, without an order between connections. */
  readonly heard: string[]
  /** Ends the connections, and leads new ones there. */
  leadTo(port: number): void
}

/** @param target may be named later */
export async function openTcpDoor(target = 0): Promise<TcpDoor> {
  let port = target
  const heard: string[] = []
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer(socket => {
    const other = connect({ host: '127.0.0.1', port })
    for (const one of [socket, other]) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => [socket, other].forEach(each => (each.destroy(), sockets.delete(each))))
    }
    socket.on('data', data => void heard.push(data.toString('latin1')))
    socket.pipe(other).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A server that has been bound to a TCP port has an AddressInfo.
    port: (server.address() as AddressInfo).port,
    heard,
    leadTo(to) {
      port = to
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
