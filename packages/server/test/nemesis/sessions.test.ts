import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startHostileImap } from '../servers/hostile-imap.ts'
import { findClient } from './sessions.ts'

test('the client of a connection is known by both ends, as its port may be that of others, too', async () => {
  await using server = await startHostileImap(() => false)
  await using other = await startHostileImap(() => false)
  const socket = connect(server.port, server.host)
  await once(socket, 'connect')
  const clientPort = socket.localPort!
  const pids = [process.ppid, process.pid]
  expect(await findClient({ clientPort, serverPort: server.port }, pids)).toBe(process.pid)
  expect(await findClient({ clientPort, serverPort: other.port }, pids)).toBeNull()
  expect(await findClient({ clientPort, serverPort: server.port }, [process.ppid])).toBeNull()
  socket.destroy()
})
