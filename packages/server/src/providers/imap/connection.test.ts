import { expect, test } from 'vitest'
import { openImapConnection } from '../../../test/imap-connection.ts'
import { startHostileImap } from '../../../test/servers/hostile-imap.ts'
import { waitUntil } from '../../../test/wait-until.ts'

test('a server that sends BYE during IDLE, and stays, is left when the wait ends', async () => {
  await using server = await startHostileImap(({ command, say }) => {
    if (command === 'IDLE') say('+ idling', '* BYE for now')
    return command === 'IDLE'
  })
  const opened = await openImapConnection(server)
  await using connection = opened.connection
  const stop = new AbortController()
  const waiting = connection.idle(600_000, stop.signal)
  await waitUntil('the BYE to be read', async () => opened.client.byeReason !== undefined)
  stop.abort()
  expect(await waiting).toBe('left')
  expect(connection.isClosed).toBe(true)
})
