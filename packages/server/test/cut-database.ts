import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

const SOCKET = '.s.PGSQL.5432'

/** A way to a database that can be cut. */
export interface CuttableDatabase extends AsyncDisposable {
  url: string
  /** From now on nothing passes in either direction, without a notice: as when a cable is pulled. */
  cut(): void
  /** Bytes that were held back arrive, late. */
  heal(): void
}

/** Stands between one process and the database of this URL, whose server listens on a unix socket. */
export async function openCuttableDatabase(url: string): Promise<CuttableDatabase> {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-cut-'))
  const target = new URL(url)
  const upstreamSocket = path.join(target.searchParams.get('host') ?? '', SOCKET)
  target.searchParams.set('host', folder)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer(client => {
    const upstream = connect(upstreamSocket)
    const pass = (from: Socket, to: Socket) => {
      sockets.add(from)
      from.on('data', chunk => void to.write(chunk))
      from.on('error', () => {})
      from.once('close', () => {
        sockets.delete(from)
        to.destroySoon()
      })
      if (isCut) from.pause()
    }
    pass(client, upstream)
    pass(upstream, client)
  })
  server.listen(path.join(folder, SOCKET))
  await once(server, 'listening')
  return {
    url: target.href,
    cut() {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    heal() {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
