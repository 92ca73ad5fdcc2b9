import { GraphError, PageIterator } from '@microsoft/microsoft-graph-client'
import type { MailFolder, Message } from '@microsoft/microsoft-graph-types'
import { expect, test } from 'vitest'
import { CLOUD_NAMES } from '../../src/microsoft/clouds.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()

test.each(CLOUD_NAMES)("is read by Microsoft's own client on %s", async cloud => {
  const user = graph.addUser(`eva@${cloud}.test`, 60, cloud)
  const client = graph.client(user)
  const folders = await client.api('/me/mailFolders').top(50).get()
  expect(folders.value.map(({ displayName }: MailFolder) => displayName)).toContain('Inbox')

  const page = await client.api('/me/messages').select('subject,receivedDateTime').top(25).get()
  const messages: Message[] = []
  const iterator = new PageIterator(client, page, (message: Message) => messages.push(message) > 0)
  await iterator.iterate()
  expect(iterator.isComplete()).toBe(true)
  expect(messages).toHaveLength(63)
  const times = messages.map(({ receivedDateTime }) => receivedDateTime ?? '')
  expect(times).toEqual(times.toSorted().toReversed())

  const [first] = messages
  const mime = await client
    .api(`/me/messages/${first?.id}/$value`)
    .responseType('text' as never)
    .get()
  expect(mime).toContain('Message-ID:')
})

test("walks a delta to its end with Microsoft's own iterator, and goes on from there", async () => {
  const user = graph.addUser('eva@office.test', 60)
  const client = graph.client(user)
  const inbox = await client.api('/me/mailFolders/inbox').get()
  const page = await client
    .api('/me/mailFolders/inbox/messages/delta')
    .header('Prefer', 'odata.maxpagesize=7')
    .select('subject')
    .get()
  const seen = new Set<string>()
  const iterator = new PageIterator(client, page, ({ id }: Message) => seen.add(id ?? '').size > 0)
  await iterator.iterate()
  expect(seen.size).toBe(inbox.totalItemCount)
  const link = iterator.getDeltaLink() ?? ''
  expect((await client.api(link).get()).value).toEqual([])
  graph.mail.receive(user, { message: Buffer.from('Subject: New\r\n\r\nHello'), from: null })
  expect((await client.api(link).get()).value).toEqual([expect.objectContaining({ subject: 'New' })])
})

test("makes errors that Microsoft's own client reads", async () => {
  const user = graph.addUser('eva@office.test')
  const error = await graph
    .client(user)
    .api('/me/messages/AAkAnothing000000000000000000')
    .get()
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(GraphError)
  expect(error).toMatchObject({
    statusCode: 404,
    code: 'ErrorItemNotFound',
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
  })
})
