import { expect, test } from 'vitest'
import { startHostileImap } from '../../../test/servers/hostile-imap.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { connectImap } from './connect.ts'
import { ImapConnection } from './connection.ts'

test('a server that says BYE during IDLE, and stays, is left when the wait ends', async () => {
  await using server = await startHostileImap(({ command, say }) => {
    if (command === 'IDLE') say('+ idling', '* BYE for now')
    return command === 'IDLE'
  })
  const { client, guard } = await connectImap(
    { addresses: [server.host], servername: 'localhost', port: server.port, security: 'none' },
    { user: 'ada', password: 'secret' },
    new AbortController().signal,
  )
  await using connection = new ImapConnection(client, guard)
  const stop = new AbortController()
  const waiting = connection.idle(600_000, stop.signal)
  await waitUntil('the BYE to be read', async () => client.byeReason !== undefined)
  stop.abort()
  expect(await waiting).toBe('left')
  expect(connection.isClosed).toBe(true)
})
