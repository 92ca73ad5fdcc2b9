import { describe, expect, test } from 'vitest'
import { useServer } from '../servers/shared-server.ts'
import { connectGmail, letter, openGmailApp } from './open-gmail-app.ts'
import { whileUnread } from './while-unread.ts'

const opened = useServer(() => openGmailApp())

const labelsOf = async (client: { messages(): Promise<Array<{ id: string; labelIds: string[] }>> }) =>
  (await client.messages()).map(({ labelIds }) => labelIds.toSorted())

describe.concurrent('a message of Gmail', () => {
  test('is marked and moved, and each change is announced once', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), async client => {
      const label = await client.createLabel('Old')
      await client.createLabel('New')
      await client.insert(letter('one'), ['INBOX', 'UNREAD', 'STARRED', label])
    })
    const { client, path } = account
    const message = await account.message('one')
    const [all, target] = [await account.mailbox('All Mail'), await account.mailbox('New')]

    const marked = await app.patch<{ isRead: boolean; isFlagged: boolean }>(
      `${path}/messages/${message.id}`,
      { isRead: true, isFlagged: false },
    )
    expect(marked).toMatchObject({ status: 200, body: { isRead: true, isFlagged: false } })
    const moved = await app.patch<{ mailboxIds: string[] }>(`${path}/messages/${message.id}`, {
      mailboxId: target.id,
    })
    expect(moved.body.mailboxIds.toSorted()).toEqual([all.id, target.id].toSorted())
    expect(await labelsOf(client)).toEqual([[(await client.labels()).find(({ name }) => name === 'New')!.id]])
    const archived = await app.patch<{ mailboxIds: string[] }>(`${path}/messages/${message.id}`, {
      mailboxId: all.id,
    })
    expect(archived.body.mailboxIds).toEqual([all.id])
    expect(
      (await app.patch<{ mailboxIds: string[] }>(`${path}/messages/${message.id}`, { mailboxId: all.id }))
        .status,
    ).toBe(200)
    const inbox = await account.mailbox('INBOX')
    const back = await app.patch<{ mailboxIds: string[] }>(`${path}/messages/${message.id}`, {
      addMailboxIds: [inbox.id, target.id],
    })
    expect(back.body.mailboxIds.toSorted()).toEqual([all.id, inbox.id, target.id].toSorted())
    await app.patch(`${path}/messages/${message.id}`, { removeMailboxIds: [inbox.id] })

    expect(await account.settledFeed()).toEqual([
      'message.updated one isRead isFlagged',
      'message.updated one mailboxIds',
      'message.updated one mailboxIds',
      'message.updated one mailboxIds',
      'message.updated one mailboxIds',
    ])
  })

  test('goes to the trash with its labels, and for good', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), async client => {
      const label = await client.createLabel('Kept')
      await client.insert(letter('one'), ['INBOX', label])
    })
    const { client, path } = account
    const { id } = await account.message('one')
    const [trash, kept, inbox] = [
      await account.mailbox('TRASH'),
      await account.mailbox('Kept'),
      await account.mailbox('INBOX'),
    ]
    expect(await app.delete(`${path}/messages/${id}`)).toMatchObject({ status: 200, body: null })
    expect((await account.message('one')).mailboxIds.toSorted()).toEqual([kept.id, trash.id].toSorted())
    expect(await app.delete(`${path}/messages/${id}`)).toMatchObject({ status: 200, body: null })
    await app.patch(`${path}/messages/${id}`, { mailboxId: inbox.id })
    expect((await account.message('one')).mailboxIds).toContain(inbox.id)
    expect((await account.message('one')).mailboxIds).not.toContain(kept.id)
    expect(await app.delete(`${path}/messages/${id}?permanent=true`)).toMatchObject({
      status: 200,
      body: null,
    })
    expect(await client.messages()).toEqual([])
    expect(await account.settledFeed()).toEqual([
      'message.updated one mailboxIds',
      'message.updated one mailboxIds',
      'message.deleted one',
    ])
  })

  test('cannot be put where Gmail alone puts messages', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), client => client.insert(letter('one'), ['INBOX']))
    const { path } = account
    const { id } = await account.message('one')
    for (const name of ['SENT', 'DRAFT', 'All Mail']) {
      const { id: mailbox } = await account.mailbox(name)
      for (const body of [{ addMailboxIds: [mailbox] }, { removeMailboxIds: [mailbox] }])
        expect(await app.patch(`${path}/messages/${id}`, body)).toMatchObject({
          status: 400,
          body: { code: 'mailbox_not_label' },
        })
    }
    for (const name of ['SENT', 'DRAFT']) {
      const { id: mailboxId } = await account.mailbox(name)
      expect(await app.patch(`${path}/messages/${id}`, { mailboxId })).toMatchObject({
        status: 400,
        body: { code: 'provider_rejected' },
      })
    }
    expect(await account.settledFeed()).toEqual([])
  })

  test('that Gmail no longer has is not found, and leaves the index', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), client => client.insert(letter('one'), ['INBOX']))
    const { path, client } = account
    const { id } = await account.message('one')
    await client.delete((await client.messages())[0]!.id)
    expect(await app.patch(`${path}/messages/${id}`, { isRead: false })).toMatchObject({ status: 404 })
    expect(await account.settledFeed()).toEqual(['message.deleted one'])
  })
})

describe.concurrent('a thread of Gmail', () => {
  test('is marked, moved and put into the trash with all its messages', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), async client => {
      await client.createLabel('New')
      await client.insert(letter('talk'), ['INBOX', 'UNREAD'])
      for (const number of [1, 2])
        await client.insert(
          letter('talk', 'References: <talk@example.com>\r\n').replace(
            '<talk@example.com>',
            `<talk-${number}@example.com>`,
          ),
          ['INBOX', 'UNREAD'],
        )
    })
    const { path, client } = account
    const { threadId } = await account.message('talk')
    const [target, trash] = [await account.mailbox('New'), await account.mailbox('TRASH')]
    const changed = await app.patch(`${path}/threads/${threadId}`, { isRead: true, mailboxId: target.id })
    expect(changed.status).toBe(200)
    const label = (await client.labels()).find(({ name }) => name === 'New')!.id
    expect(await labelsOf(client)).toEqual([[label], [label], [label]])
    await app.patch(`${path}/threads/${threadId}`, { isRead: true, mailboxId: target.id })
    expect((await app.delete(`${path}/threads/${threadId}`)).status).toBe(200)
    expect(await labelsOf(client)).toEqual(
      [
        [label, 'TRASH'],
        [label, 'TRASH'],
        [label, 'TRASH'],
      ].map(ids => ids.toSorted()),
    )
    expect((await account.messages()).every(({ mailboxIds }) => mailboxIds.includes(trash.id))).toBe(true)
    expect((await app.delete(`${path}/threads/${threadId}`)).status).toBe(200)
    expect((await account.settledFeed()).length).toBe(9)
  })
})

describe.concurrent('a label of Gmail', () => {
  test('takes a longer name of its own, also when a first try moved only those below it', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const { path, client } = account
    const top = (await app.post<{ id: string }>(`${path}/mailboxes`, { name: 'Long' })).body
    for (const name of ['moved', 'left']) await app.post(`${path}/mailboxes`, { name, parentId: top.id })
    const moved = (await client.labels()).find(({ name }) => name === 'Long/moved')!
    await client.renameLabel(moved.id, 'Long/er/moved')
    const renamed = await app.patch(`${path}/mailboxes/${top.id}`, { name: 'Long/er' })
    expect(renamed.body).toMatchObject({ id: top.id, path: 'Long/er' })
    const names = (await client.labels()).map(({ name }) => name).filter(name => name.startsWith('Long'))
    expect(names.toSorted()).toEqual(['Long/er', 'Long/er/left', 'Long/er/moved'])
  })

  test('of Gmail’s own is protected, and holds no others', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const { path } = account
    const { body: own } = await app.post<{ id: string }>(`${path}/mailboxes`, { name: 'Own' })
    for (const name of ['INBOX', 'SENT', 'DRAFT', 'TRASH', 'SPAM', 'IMPORTANT', 'All Mail']) {
      const { id } = await account.mailbox(name)
      const isProtected = { status: 409, body: { code: 'mailbox_protected' } }
      expect(await app.patch(`${path}/mailboxes/${id}`, { name: 'x' })).toMatchObject(isProtected)
      expect(await app.delete(`${path}/mailboxes/${id}`)).toMatchObject(isProtected)
      const isNoParent = { status: 400, body: { code: 'mailbox_parent' } }
      expect(await app.post(`${path}/mailboxes`, { name: 'x', parentId: id })).toMatchObject(isNoParent)
      expect(await app.patch(`${path}/mailboxes/${own.id}`, { parentId: id })).toMatchObject(isNoParent)
    }
    expect(await app.post(`${path}/mailboxes`, { name: 'x//y' })).toMatchObject({
      status: 400,
      body: { code: 'provider_rejected' },
    })
  })
})

test('a label of Gmail is created, renamed with those below it, and deleted without its messages', async () => {
  const { app } = opened()
  const account = await connectGmail(opened())
  const { path, client } = account
  const top = (await app.post<{ id: string }>(`${path}/mailboxes`, { name: 'Top' })).body
  expect(top).toMatchObject({ name: 'Top', path: 'Top', role: 'custom', kind: 'label', parentId: null })
  const below = (await app.post<{ id: string }>(`${path}/mailboxes`, { name: 'a/b', parentId: top.id })).body
  expect(below).toMatchObject({ name: 'a/b', path: 'Top/a/b', parentId: top.id })
  expect(await app.post(`${path}/mailboxes`, { name: 'top' })).toMatchObject({
    status: 409,
    body: { code: 'provider_conflict' },
  })
  const label = (await client.labels()).find(({ name }) => name === 'Top/a/b')!.id
  await client.insert(letter('one'), [label])
  await account.message('one')

  await whileUnread(opened(), account, async () => {
    const renamed = await app.patch(`${path}/mailboxes/${top.id}`, { name: 'Renamed' })
    expect(renamed.body).toMatchObject({ id: top.id, name: 'Renamed', path: 'Renamed' })
    expect(await account.mailbox('Renamed/a/b')).toMatchObject({ id: below.id, parentId: top.id })
    expect(await app.delete(`${path}/mailboxes/${top.id}`)).toMatchObject({ status: 200, body: null })
    expect(await account.mailbox('Renamed/a/b')).toMatchObject({
      id: below.id,
      name: 'Renamed/a/b',
      parentId: null,
    })
    await app.delete(`${path}/mailboxes/${below.id}`)
  })
  const { id: allId } = await account.mailbox('All Mail')
  const feed = await account.settledFeed()
  expect(feed.filter(line => !line.includes(' news'))).toEqual([
    'mailbox.created Top',
    'mailbox.created Top/a/b',
    'message.created one',
    'mailbox.updated Renamed name path',
    'mailbox.updated Renamed/a/b path',
    'mailbox.deleted Renamed',
    'mailbox.updated Renamed/a/b name parentId',
    'mailbox.deleted Renamed/a/b',
    'message.updated one mailboxIds',
  ])
  expect((await account.message('one')).mailboxIds).toEqual([allId])
})
