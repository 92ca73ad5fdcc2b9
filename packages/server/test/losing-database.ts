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
  /**
   * Cuts the connection of the next commit, after the server has carried it out and before its answer.
   * @param behind what is sent over the same connection before it, so that no other commit is lost in its place
   */
  loseNextCommit(behind?: string): void
  /** Cuts the connection that is about to carry this text to the server, before it arrives. */
  loseNextStatement(containing: string): void
  /** Commits whose answers were lost, and statements. */
  lost(): number
  /** From now on there is no connection, and none can be opened. */
  goAway(): void
  comeBack(): void
}

/** Stands between the service and its database, and loses what passes. */
export async function openLosingDatabase(real: Database): Promise<LosingDatabase> {
  if ('url' in real.address) throw new Error('The database has no socket')
  const { address } = real
  const folder = await mkdtemp(join(tmpdir(), 'waxwing-losing-'))
  const sockets = new Set<Socket>()
  let awaited: string | null = null
  let awaitedStatement: string | null = null
  let lost = 0
  let isAway = false
  const server = createServer(client => {
    if (isAway) return void client.destroy()
    const upstream = connect(join(address.socketFolder, SOCKET))
    let isMeant = false
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
      const sent = chunk.toString('latin1')
      if (awaitedStatement !== null && sent.includes(awaitedStatement)) {
        awaitedStatement = null
        lost += 1
        return void client.destroy()
      }
      isMeant ||= awaited !== null && sent.includes(awaited)
      if (awaited !== null && isMeant && /\bcommit\b/i.test(sent)) {
        awaited = null
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
    loseNextCommit: (behind = '') => void (awaited = behind),
    loseNextStatement: containing => void (awaitedStatement = containing),
    lost: () => lost,
    goAway() {
      isAway = true
      for (const socket of sockets) socket.destroy()
    },
    comeBack: () => void (isAway = false),
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
