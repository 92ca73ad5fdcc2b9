import { expect, test } from 'vitest'
import { type MemoryIndex, openIndex } from '../../src/providers/conformance/memory-index.ts'
import type { Cursor, MailProvider } from '../../src/providers/mail.ts'
import { type Arranged, expectSame, isFetch, letter, useMailboxes } from './arranged-mailbox.ts'
import { littleQuota } from './little-quota.ts'
import { tokensFor } from './reach-sandbox.ts'

const arrange = useMailboxes()

/** The pages of ids that the adapter has asked for. */
async function pagesAsked({ server, email }: Arranged): Promise<string[]> {
  const { items } = await server.calls({ user: email })
  return items
    .filter(({ clientId, path }) => clientId === 'sandbox' && path === '/gmail/v1/users/me/messages')
    .map(({ query }) => query)
}

/** An index of everything, made with plenty of quota. */
async function indexAll(arranged: Arranged): Promise<MemoryIndex> {
  await using account = arranged.connect()
  const index = openIndex('history')
  await index.follow(account.mail)
  index.takeSteps()
  return index
}

/** Lets the history expire, and the adapter see that. */
async function expire({ server, email }: Arranged, index: MemoryIndex, mail: MailProvider): Promise<void> {
  const held = new Map(index.messages)
  await server.expireHistory(email)
  await index.compare(mail)
  // The index keeps its rows, and waits for them to be named.
  for (const [key, message] of held) index.messages.set(key, message)
  index.takeSteps()
}

test('an expired history is made up for with a quota that lists a few pages a minute', async () => {
  await using arranged = await arrange(300)
  const { client } = arranged
  const index = await indexAll(arranged)
  const [some] = await client.messages()
  await client.modify(some!.id, { add: ['STARRED'] })
  const little = littleQuota(40)
  await using account = arranged.connect({ quota: little.quota })
  await expire(arranged, index, account.mail)
  const before = (await pagesAsked(arranged)).length

  expect(await little.untilDone(() => index.bring(account.mail))).toBeGreaterThan(2)

  const asked = (await pagesAsked(arranged)).slice(before)
  expect(asked).toEqual([...new Set(asked)])
  await expectSame(index, client)
})

test('a source is listed with a quota that lists a few pages a minute', async () => {
  await using arranged = await arrange(300)
  const index = await indexAll(arranged)
  const little = littleQuota(40)
  await using account = arranged.connect({ quota: little.quota })
  const before = (await pagesAsked(arranged)).length
  const listed = new Set<unknown>()
  let after: Cursor | null = null
  const isDone = async () => {
    const { signal } = new AbortController()
    const at = { source: 'history', cursor: index.cursor }
    const page = await account.mail.list(at, { since: null, after, signal })
    for (const { key } of page.messages) listed.add(key)
    after = page.next
    return after === null
  }

  expect(await little.untilDone(isDone)).toBeGreaterThan(2)

  const asked = (await pagesAsked(arranged)).slice(before)
  expect(asked).toEqual([...new Set(asked)])
  expect(listed).toEqual(new Set(index.messages.keys()))
})

test('a listing outlives a call that fails, and not two', async () => {
  await using arranged = await arrange(20)
  const { client, server } = arranged
  const index = await indexAll(arranged)
  await using account = arranged.connect()
  await expire(arranged, index, account.mail)
  const remaining = index.messages.size
  const fault = { does: 'error', host: 'gmail.googleapis.com', path: '/gmail/v1/users/me/messages' }
  await server.addFault({ ...fault, count: 1 })
  await index.bring(account.mail)
  // Before everything is listed, the follower sees how far it is.
  const [first] = index.takeSteps()
  expect(first).toMatchObject({ type: 'page', steps: [{ type: 'arrived', messages: [], remaining }] })
  await expectSame(index, client)
  await server.addFault({ ...fault, count: 2 })
  const { signal } = new AbortController()
  const at = { source: 'history', cursor: index.cursor }
  const { next: after } = await account.mail.list(at, { since: null, after: null, signal })
  await expect(account.mail.list(at, { since: null, after, signal })).rejects.toMatchObject({
    kind: 'unavailable',
  })
})

test('a label that is deleted while labels are listed is left out', async () => {
  await using arranged = await arrange()
  const { client, server, email } = arranged
  const label = await client.createLabel('Work')
  for (const number of [1, 2]) await client.insert(letter(number), ['INBOX', label])
  const index = await indexAll(arranged)
  let asks = Number.NEGATIVE_INFINITY
  // The labels and their counts were asked for by then.
  const tokens = await tokensFor(server, email, async () => {
    if (++asks === 3) await client.deleteLabel(label)
  })
  await using account = arranged.connect({ tokens })
  await expire(arranged, index, account.mail)
  asks = 0
  await index.bring(account.mail)
  expect(asks).toBeGreaterThan(3)
  await expectSame(index, client)
})

test('labels that a page of the history does not have are asked for in parts', async () => {
  await using arranged = await arrange()
  const { client } = arranged
  const numbers = Array.from({ length: 100 }, (_, number) => number)
  const letters = await Promise.all(numbers.map(number => client.insert(letter(number), ['INBOX'])))
  const index = await indexAll(arranged)
  // A message without any label has none in the history either.
  await Promise.all(letters.map(({ id }) => client.modify(id, { remove: ['INBOX'] })))
  const little = littleQuota(1_500)
  await using account = arranged.connect({ quota: little.quota })
  await arranged.takeCalls()
  const archived = () =>
    [...index.messages.values()].filter(({ mailboxKeys }) => !mailboxKeys.includes('INBOX')).length
  const recorded: number[] = []
  const isCompared = async () => {
    await index.compare(account.mail).finally(() => recorded.push(archived()))
    return true
  }
  await little.untilDone(isCompared)
  expect(recorded).toEqual([50, 100])
  expect((await arranged.takeCalls()).filter(isFetch).length).toBe(100)
  await expectSame(index, client)
})

test('a draft among more messages than the quota of a minute is read, with all the others', async () => {
  await using arranged = await arrange(60)
  const { client } = arranged
  await client.createDraft(letter(1))
  const little = littleQuota(800)
  await using account = arranged.connect({ quota: little.quota })
  const index = openIndex('history')

  const isRead = () => index.follow(account.mail).then(() => true)
  await little.untilDone(isRead)

  await expectSame(index, client)
})

test('new mail with a draft is read with a quota that has no room for a whole batch', async () => {
  await using arranged = await arrange()
  const { client } = arranged
  const index = await indexAll(arranged)
  const numbers = Array.from({ length: 60 }, (_, number) => number)
  await Promise.all(numbers.map(number => client.insert(letter(number), ['INBOX'])))
  await client.createDraft(letter(60))
  const little = littleQuota(800)
  await using account = arranged.connect({ quota: little.quota })

  const isCompared = () => index.compare(account.mail).then(() => true)
  expect(await little.untilDone(isCompared)).toBeGreaterThan(0)

  await expectSame(index, client)
})
