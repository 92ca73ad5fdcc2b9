import { expect, test } from 'vitest'
import { letter } from '../../src/providers/conformance/arrangement.ts'
import type { MessageKey } from '../../src/providers/mail.ts'
import { useServer } from '../servers/shared-server.ts'
import { arrangeGraph, type GraphArrangement } from './arrange-graph.ts'
import { startGraph } from './graph-server.ts'

const server = useServer(startGraph)

/** Opens the source of a message, and reads no further than its first bytes. */
async function begin(account: Awaited<ReturnType<GraphArrangement['connect']>>, key: MessageKey) {
  const reading = account.content.open(
    { source: 'inbox', cursor: null, key },
    { part: null, isHeader: false, offset: 0, end: null, size: null },
  )
  const { value } = await reading.next()
  return { bytes: (value as Buffer).length, end: () => reading.return('end') }
}

test('downloads whose readers pause leave a slot of the mailbox to new mail', async () => {
  await using arranged = await arrangeGraph(server())
  const body = 'x'.repeat(78) + '\r\n'
  const [key] = await arranged.world.deliver([{ raw: letter(1) + body.repeat(200_000) }])
  await using account = await arranged.connect()
  const [one, two] = [await begin(account, key!), await begin(account, key!)]
  const third = begin(account, key!)
  expect((await account.mail.listMailboxes()).length).toBeGreaterThan(5)
  // It waits for its turn, and does not fail.
  await one.end()
  const { end } = await third
  await two.end()
  await end()
})

test('small sources hold no slot, although nobody reads them', async () => {
  await using arranged = await arrangeGraph(server())
  const [key] = await arranged.world.deliver([{ raw: letter(1) }])
  await using account = await arranged.connect()
  const begun = []
  for (let times = 0; times < 6; times++) begun.push(await begin(account, key!))
  expect(begun.map(({ bytes }) => bytes)).toEqual(begun.map(() => letter(1).length))
  for (const { end } of begun) await end()
})
