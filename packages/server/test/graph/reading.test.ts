import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMailboxes } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphApp, openGraphApp } from './open-graph-app.ts'
import { indexed, truth } from './two-views.ts'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

describe('an account of Microsoft Graph', () => {
  test('has the messages that another client sees, and a delivered one is in the feed', async () => {
    const account = await connectGraph(opened, { messages: 40 })
    expect(await indexed(opened, account)).toEqual(await truth(account))
    await opened.sandbox.deliver(
      account.email,
      'From: Grace <grace@example.com>\r\nTo: me@office.test\r\nSubject: Just now\r\n\r\nDear Eva\r\n',
    )
    const event = await waitUntil(
      'the delivered message in the feed',
      async () => (await account.feed()).find(({ type }) => type === 'message.created') ?? null,
    )
    expect(event).toMatchObject({ data: { message: { subject: 'Just now', snippet: 'Dear Eva' } } })
    expect(await indexed(opened, account)).toEqual(await truth(account))
  })

  test('has 300 folders with their messages, and none that are hidden', async () => {
    const account = await connectGraph(opened, {
      messages: 100,
      arrange: async client => {
        for (let number = 1; number <= 300; number++) await client.createFolder(`Folder ${number}`)
        const [folder] = await client.all("mailFolders?$filter=displayName eq 'Folder 300'")
        const some = await client.all('messages?$top=100&$select=id')
        await client.move(
          some.slice(0, 30).map(({ id }) => id),
          folder.id,
        )
      },
    })
    const lines = await indexed(opened, account)
    expect(lines.filter(line => line.startsWith('Folder 300: '))).toHaveLength(30)
    expect(lines).toEqual(await truth(account))
    const names = (await readMailboxes(opened.app, account.accountId)).map(({ name }) => name)
    expect(names.filter(name => name.startsWith('Folder '))).toHaveLength(300)
    expect(names.filter(name => /Sync Issues|Clutter|Scheduled/.test(name))).toEqual([])
  })

  test('announces 1,000 moved messages by 1,000 updates, and by nothing else', async () => {
    const account = await connectGraph(opened, { messages: 1_050 })
    const { client } = account
    const folder = await client.createFolder('Moved')
    const all = await client.all('messages?$top=500&$select=id,isDraft')
    const ids = all.filter(({ isDraft }) => !isDraft).map(({ id }) => id)
    await client.move(ids.slice(0, 1_000), folder)
    await waitUntil('the index to have all that were moved', async () => {
      const mailboxes = await readMailboxes(opened.app, account.accountId)
      const moved = mailboxes.find(({ name }) => name === 'Moved')
      const updates = (await account.feed()).filter(({ type }) => type === 'message.updated')
      return moved?.totalCount === 1_000 && updates.length >= 1_000
    })
    expect(await indexed(opened, account)).toEqual(await truth(account))
    const events = (await account.feed()).filter(({ type }) => type.startsWith('message.'))
    expect(events.filter(({ type }) => type !== 'message.updated')).toEqual([])
    expect(events).toHaveLength(1_000)
  })
})
