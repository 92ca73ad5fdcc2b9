import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { letters } from '../../src/providers/conformance/arrangement.ts'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { waitUntil } from '../wait-until.ts'
import { arrangeGraph } from './arrange-graph.ts'
import { type GraphServer, startGraph } from './graph-server.ts'
import { connectGraph, type GraphApp, openGraphApp } from './open-graph-app.ts'
import { indexed, truth } from './two-views.ts'

/* Graph forgets the state of a delta at any time: 410 answers any link. */

let server: GraphServer
let opened: GraphApp
beforeAll(async () => {
  server = await startGraph()
  opened = await openGraphApp()
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/**
 * Reads a folder of two pages, and then changes of two pages. All links expire before one call for a delta.
 * @returns whether that call was made
 */
async function followThrough(expiredAt: number): Promise<boolean> {
  await using arranged = await arrangeGraph(server)
  const { inbox, mailbox, world } = arranged
  let calls = 0
  server.intercept = ({ path }) => {
    if (path.includes('/messages/delta') && calls++ === expiredAt)
      server.mail.expire({ user: null, at: null })
    return null
  }
  const keys = await world.deliver(letters(520))
  await world.createMailbox('Kept')
  await using account = await arranged.connect()
  const { mail } = account
  await mail.listMailboxes()
  const index = openIndex(inbox)
  const followAll = async () => {
    do await index.follow(mail)
    while (!mail.isComplete(index.cursor, null))
  }
  await followAll()
  await world.move('INBOX', keys.slice(0, 505), 'Kept')
  await world.flag('INBOX', keys.slice(510), '\\Seen')
  const late = await world.deliver(letters(3, 900))
  await mail.listMailboxes()
  await followAll()

  const note = `expired at call ${expiredAt}`
  expect(new Set(index.messages.keys()), note).toEqual(new Set([...keys.slice(505), ...late]))
  for (const [key, { isRead }] of index.messages)
    expect(isRead, `${note}: ${key}`).toBe(mailbox.byId.get(String(key))!.isRead)
  const resets = index.steps.flatMap(step => (step.type === 'reset' ? [step.keys] : []))
  expect(resets[0], note).toBe('void')
  expect(new Set(resets.slice(1)), note).toEqual(new Set(resets.length > 1 ? ['kept'] : []))
  return calls > expiredAt
}

test('a folder is read whole, whichever of its links has expired', async () => {
  let expiredAt = 0
  while (await followThrough(expiredAt)) expiredAt++
  expect(expiredAt).toBeGreaterThanOrEqual(4)
})

test('an account keeps the ids of its messages, and reports only what happened', async () => {
  const account = await connectGraph(opened, { messages: 120 })
  const { client, email } = account
  const before = await account.messages()
  const folder = await client.createFolder('Moved')
  const all = (await client.all('mailFolders/inbox/messages?$top=500&$select=id')).map(({ id }) => id)
  await waitUntil('the folder', async () =>
    (await account.feed()).some(
      ({ type, data }) => type.startsWith('mailbox.') && data.mailbox?.name === 'Moved',
    ),
  )
  await opened.sandbox.expireHistory(email)
  await client.move(all.slice(0, 10), folder)
  for (const id of all.slice(10, 15)) await client.ask('POST', `messages/${id}/permanentDelete`)
  await opened.sandbox.deliver(email, 'From: Grace <grace@example.com>\r\nSubject: Just now\r\n\r\nHi\r\n')
  await waitUntil('the index to have all of it', async () =>
    isDeepStrictEqual(await indexed(opened, account), await truth(account)),
  )
  const after = await account.messages()
  const idsBefore = new Set(before.map(({ id }) => id))
  expect(after.filter(({ id }) => !idsBefore.has(id)).map(({ subject }) => subject)).toEqual(['Just now'])
  expect(after).toHaveLength(before.length + 1 - 5)
  const events = (await account.feed()).filter(({ type }) => type.startsWith('message.'))
  const places = new Map(before.map(({ id, mailboxIds }) => [id, mailboxIds[0]]))
  const idsAfter = new Set(after.map(({ id }) => id))
  const moved = after.filter(({ id, mailboxIds }) => places.has(id) && places.get(id) !== mailboxIds[0])
  expect(moved).toHaveLength(10)
  expect(events.map(({ type, data }) => `${type} ${data.message?.id}`).toSorted()).toEqual(
    [
      ...after.filter(({ id }) => !idsBefore.has(id)).map(({ id }) => `message.created ${id}`),
      ...before.filter(({ id }) => !idsAfter.has(id)).map(({ id }) => `message.deleted ${id}`),
      ...moved.map(({ id }) => `message.updated ${id}`),
    ].toSorted(),
  )
})
