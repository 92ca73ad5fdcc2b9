import { expect, test } from 'vitest'
import { addMessage } from '../../../sandbox/src/microsoft/mailbox/messages.ts'
import { letters } from '../../src/providers/conformance/arrangement.ts'
import { type MemoryIndex, openIndex } from '../../src/providers/conformance/memory-index.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import { useServer } from '../servers/shared-server.ts'
import { arrangeGraph, type GraphArrangement } from './arrange-graph.ts'
import { startGraph } from './graph-server.ts'

/* Following a folder in a cloud without a delta of messages. */

const server = useServer(startGraph)

/** Follows the inbox if it looks different. @returns the types of the steps */
async function look(
  arranged: GraphArrangement,
  index: MemoryIndex,
  secondsLater: number,
): Promise<ReadonlySet<string>> {
  await using account = await arranged.connect({ clockAheadMs: secondsLater * 1_000 })
  const inbox = (await account.mail.listMailboxes()).find(({ key }) => key === arranged.inbox)!
  if (account.mail.hasChanged(inbox, index.cursor)) await index.follow(account.mail)
  return new Set(index.takeSteps().map(({ type }) => type))
}

test('a deletion soon after the folder was listed is found by the next list', async () => {
  await using arranged = await arrangeGraph(server(), 'china')
  const index = openIndex(arranged.inbox)
  const keys = await arranged.world.deliver(letters(20))
  await look(arranged, index, 0)
  await arranged.world.expunge('INBOX', [keys[4]!])
  const soon = await look(arranged, index, 5)
  expect(soon).not.toContain('reset')
  expect(index.messages.has(keys[4]!)).toBe(true)
  expect(await look(arranged, index, 40)).toContain('reset')
  expect(new Set(index.messages.keys())).toEqual(new Set(keys.filter(key => key !== keys[4])))
  expect(await look(arranged, index, 80)).toEqual(new Set())
})

test('a deletion that an arrival hides, both soon after the folder was listed, is found as well', async () => {
  await using arranged = await arrangeGraph(server(), 'china')
  const index = openIndex(arranged.inbox)
  const keys = await arranged.world.deliver(letters(20))
  await look(arranged, index, 0)
  await arranged.world.expunge('INBOX', [keys[4]!])
  const [late] = await arranged.world.deliver(letters(1, 50))
  await look(arranged, index, 5)
  expect(index.messages.has(late!)).toBe(true)
  await look(arranged, index, 40)
  expect(new Set(index.messages.keys())).toEqual(new Set([...keys.filter(key => key !== keys[4]), late]))
})

test('a watch reports the folder until the deletion was found', async () => {
  await using arranged = await arrangeGraph(server(), 'china')
  const keys = await arranged.world.deliver(letters(5))
  await using account = await arranged.connect()
  const { mail } = account
  const index = openIndex(arranged.inbox)
  await mail.listMailboxes()
  await index.follow(mail)
  await arranged.world.expunge('INBOX', [keys[1]!])
  const { signal } = new AbortController()
  for (let times = 0; times < 2; times++) {
    expect(await mail.watch(arranged.inbox, 30, signal)).toMatchObject({ gone: true })
    await index.follow(mail)
  }
})

test('an arrival that was pushed makes no folder be listed', async () => {
  await using arranged = await arrangeGraph(server(), 'china')
  const index = openIndex(arranged.inbox)
  const keys = await arranged.world.deliver(letters(5))
  await look(arranged, index, 0)
  await using account = await arranged.connect({ clockAheadMs: 40_000 })
  const { mail } = account
  await mail.listMailboxes()
  await index.follow(mail)
  index.takeSteps()
  const late = await arranged.world.deliver(letters(1, 50))
  expect(await mail.listNoticed!()).toEqual([arranged.inbox])
  await index.follow(mail)
  expect(index.takeSteps().map(({ type }) => type)).not.toContain('reset')
  expect(new Set(index.messages.keys())).toEqual(new Set([...keys, ...late]))
  expect(await look(arranged, index, 80)).not.toContain('reset')
  // A deletion beside an arrival shows in the counts of the next look.
  await arranged.world.expunge('INBOX', [keys[0]!])
  await arranged.world.deliver(letters(1, 60))
  await mail.listNoticed!()
  await index.follow(mail)
  await look(arranged, index, 120)
  expect(index.messages.has(keys[0]!)).toBe(false)
  expect(index.messages.size).toBe(6)
})

test('more modified messages than are listed make the whole folder be listed', async () => {
  await using arranged = await arrangeGraph(server(), 'china')
  const index = openIndex(arranged.inbox)
  const keys = await arranged.world.deliver(letters(20))
  await look(arranged, index, 0)
  await arranged.world.flag('INBOX', keys, '\\Seen')
  let pages = 0
  server().intercept = ({ path }) => {
    if (!path.includes('lastModifiedDateTime+ge') && !path.includes('lastModifiedDateTime%20ge')) return null
    pages += 1
    const link = `https://${CLOUDS.china.graph}${path}&page=${pages}`
    return Response.json({ value: [{ id: keys[0], isRead: true }], '@odata.nextLink': link })
  }
  expect(await look(arranged, index, 5)).toContain('reset')
  expect(pages).toBe(20)
  expect(index.keys().map(key => index.messages.get(key)?.isRead)).toEqual(keys.map(() => true))
})

test('a quiet folder is not listed again in half an hour', async () => {
  await using arranged = await arrangeGraph(server(), 'china')
  const index = openIndex(arranged.inbox)
  const before = Date.now() - 3_600_000
  const keys = letters(5).map(
    ({ raw }) =>
      addMessage(arranged.mailbox, {
        folder: arranged.folder('INBOX'),
        raw: Buffer.from(raw),
        fields: { receivedAt: before },
        modifiedAt: before,
      }).immutableId,
  )
  await look(arranged, index, 0)
  expect(await look(arranged, index, 35 * 60)).not.toContain('reset')
  await arranged.world.flag('INBOX', [keys[0]!], '\\Seen')
  await look(arranged, index, 36 * 60)
  expect(index.messages.get(keys[0]!)?.isRead).toBe(true)
})
