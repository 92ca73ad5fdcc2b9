import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '../src/database/pool.ts'

const SOCKET = '.s.PGSQL.5432'

export interface LosingDatabase extends AsyncDisposable {
  /** The same database, over a connection that can be lost. */
  database: Database
  /** Cuts the connection of the next commit, after the server has carried it out and before its answer. */
  loseNextCommit(): void
  /** Commits whose answers were lost. */
  lost(): number
}

/** Stands between the service and its database, and loses the answers to commits. */
export async function openLosingDatabase(real: Database): Promise<LosingDatabase> {
  if ('url' in real.address) throw new Error('The database has no socket')
  const { address } = real
  const folder = await mkdtemp(join(tmpdir(), 'waxwing-losing-'))
  const sockets = new Set<Socket>()
  let isArmed = false
  let lost = 0
  const server = createServer(client => {
    const upstream = connect(join(address.socketFolder, SOCKET))
    let isLosing = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', chunk => {
      if (isArmed && /\bcommit\b/i.test(chunk.toString('latin1'))) {
        isArmed = false
        isLosing = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', chunk => {
      // Only the answer to a commit has this tag.
      if (!isLosing || !chunk.includes('COMMIT\0')) return void client.write(chunk)
      lost += 1
      client.destroy()
    })
  })
  server.listen(join(folder, SOCKET))
  await once(server, 'listening')
  const database = openDatabase({
    address: { ...address, socketFolder: folder },
    applicationName: 'waxwing test',
  })
  return {
    database,
    loseNextCommit: () => void (isArmed = true),
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}
