import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMailboxes } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphApp, openGraphApp } from './open-graph-app.ts'
import { indexed, truth } from './two-views.ts'
import { numberFor } from '../soak.ts'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

/** More than one page has. */
const FOLDERS = numberFor({ ci: 120, soak: 300 })
const MOVED = numberFor({ ci: 300, soak: 1_000 })

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

  test('has many folders with their messages, and none that are hidden', async () => {
    const account = await connectGraph(opened, {
      messages: 100,
      arrange: async client => {
        for (let number = 1; number <= FOLDERS; number++) await client.createFolder(`Folder ${number}`)
        const [folder] = await client.all(`mailFolders?$filter=displayName eq 'Folder ${FOLDERS}'`)
        const some = await client.all('messages?$top=100&$select=id')
        await client.move(
          some.slice(0, 30).map(({ id }) => id),
          folder.id,
        )
      },
    })
    const lines = await indexed(opened, account)
    expect(lines.filter(line => line.startsWith(`Folder ${FOLDERS}: `))).toHaveLength(30)
    expect(lines).toEqual(await truth(account))
    const names = (await readMailboxes(opened.app, account.accountId)).map(({ name }) => name)
    expect(names.filter(name => name.startsWith('Folder '))).toHaveLength(FOLDERS)
    expect(names.filter(name => /Sync Issues|Clutter|Scheduled/.test(name))).toEqual([])
  })

  test('announces moved messages by one update each, and by nothing else', async () => {
    const account = await connectGraph(opened, { messages: MOVED + 50 })
    const { client } = account
    const folder = await client.createFolder('Moved')
    const all = await client.all('messages?$top=500&$select=id,isDraft')
    const ids = all.filter(({ isDraft }) => !isDraft).map(({ id }) => id)
    await client.move(ids.slice(0, MOVED), folder)
    await waitUntil('the index to have all that were moved', async () => {
      const mailboxes = await readMailboxes(opened.app, account.accountId)
      const moved = mailboxes.find(({ name }) => name === 'Moved')
      const updates = (await account.feed()).filter(({ type }) => type === 'message.updated')
      return moved?.totalCount === MOVED && updates.length >= MOVED
    })
    expect(await indexed(opened, account)).toEqual(await truth(account))
    const events = (await account.feed()).filter(({ type }) => type.startsWith('message.'))
    expect(events.filter(({ type }) => type !== 'message.updated')).toEqual([])
    expect(events).toHaveLength(MOVED)
  })
})
