/** @module-tag postgres-16 */
import type { Thread, ThreadSummary } from '@waxwing/contract/mail/threads.ts'
import { describe, expect, test } from 'vitest'
import {
  sampleAccount,
  sampleMailbox,
  sampleMessageIn,
  sampleMessages,
} from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { newId } from '../../../kit/ids.ts'

const { newTenant } = useTestApp()

interface Page {
  items: ThreadSummary[]
  nextCursor: string | null
}

async function openThreadApp(override: object = { syncWindowDays: null }) {
  const app = await newTenant()
  const account = await sampleAccount(app.db, app.tenantId, { settings_override: JSON.stringify(override) })
  const inbox = (await sampleMailbox(app.db, account, { name: 'Inbox', role: 'inbox' })).id
  const sent = (await sampleMailbox(app.db, account, { name: 'Sent', role: 'sent' })).id
  const path = `/v1/accounts/${account.id}/threads`
  return {
    app,
    account,
    inbox,
    sent,
    path,
    /** Adds a message to the thread, received at that second. */
    add: (
      threadId: string | null,
      second: number,
      values: Parameters<typeof sampleMessageIn>[3] = {},
      mailboxId = inbox,
    ) =>
      sampleMessageIn(app.db, account, mailboxId, {
        threadId,
        receivedAt: new Date(second * 1000),
        ...values,
      }),
    list: (query = '') => app.get<Page>(path + query),
    async ids(query = '') {
      const { body } = await app.get<Page>(path + query)
      return body.items.map(({ id }) => id)
    },
  }
}

describe('GET /v1/accounts/{accountId}/threads', () => {
  test('lists by latest activity, and leaves out messages that are in no thread', async () => {
    const mail = await openThreadApp()
    await mail.add('a', 1)
    await mail.add('b', 2)
    await mail.add('c', 3)
    await mail.add('a', 4)
    await mail.add(null, 5)
    expect(await mail.ids()).toEqual(['a', 'c', 'b'])
  })

  test('sums up all messages of a thread', async () => {
    const mail = await openThreadApp()
    const ada = { name: 'Ada', address: 'ada@example.com' }
    const bob = { name: null, address: 'bob@example.com' }
    await mail.add('t', 1, {
      subject: 'Plan',
      from: bob,
      to: [ada],
      isRead: true,
      isFlagged: true,
      snippet: 'first',
    })
    await mail.add(
      't',
      2,
      {
        subject: 'Re: Plan',
        from: { name: null, address: 'ADA@example.com' },
        to: [{ name: 'Bob', address: 'Bob@example.com' }],
        isRead: false,
      },
      mail.sent,
    )
    const latest = await mail.add('t', 3, {
      subject: 'Re: Plan!',
      from: null,
      cc: [{ name: 'Cy', address: 'cy@example.com' }],
      bcc: [{ name: null, address: 'x@example.com' }],
      hasAttachments: true,
      isDraft: true,
      snippet: 'last',
    })

    const { body } = await mail.list()
    const [thread] = body.items
    expect(body).toEqual({ nextCursor: null, items: [thread] })
    expect(thread).toEqual({
      id: 't',
      subject: 'Re: Plan!',
      snippet: 'last',
      participants: [
        ada,
        { name: 'Bob', address: 'Bob@example.com' },
        { name: 'Cy', address: 'cy@example.com' },
      ],
      messageCount: 3,
      unreadCount: 2,
      isFlagged: true,
      hasAttachments: true,
      hasDrafts: true,
      mailboxIds: [mail.inbox, mail.sent].toSorted(),
      latestMessageId: latest,
      lastMessageAt: '1970-01-01T00:00:03.000Z',
    })
  })

  test('distinguishes senders that have only a name, as in bounces', async () => {
    const mail = await openThreadApp()
    const daemon = { name: 'Mail Delivery System', address: '' }
    const other = { name: 'MAILER-DAEMON', address: '' }
    const ada = { name: 'Ada', address: 'ada@example.com' }
    await mail.add('t', 1, { from: daemon, to: [ada] })
    await mail.add('t', 2, { from: other, to: [ada] })
    await mail.add('t', 3, { from: daemon, to: [ada] })

    const { body } = await mail.list()
    expect(body.items[0]?.participants).toEqual([daemon, ada, other])
  })

  test('with a mailbox orders by the latest message there and still describes the whole thread', async () => {
    const mail = await openThreadApp()
    await mail.add('a', 1)
    await mail.add('b', 2)
    const reply = await mail.add('a', 3, { subject: 'sent reply' }, mail.sent)
    await mail.add('only sent', 4, {}, mail.sent)

    const { body } = await mail.list(`?mailboxId=${mail.inbox}`)
    expect(body.items.map(({ id }) => id)).toEqual(['b', 'a'])
    expect(body.items[1]).toMatchObject({ messageCount: 2, subject: 'sent reply', latestMessageId: reply })
    expect(await mail.ids(`?mailboxId=${mail.sent}`)).toEqual(['only sent', 'a'])
    expect(await mail.list(`?mailboxId=${newId()}`)).toMatchObject({
      status: 422,
      body: { code: 'unknown_mailbox' },
    })
  })

  test('shows each thread on one page only, for any page size, also if messages came at the same time', async () => {
    const mail = await openThreadApp()
    const messages = Array.from({ length: 240 }, (_, nth) => ({
      mailboxIds: [nth % 3 === 0 ? mail.sent : mail.inbox],
      threadId: `t${nth % 60}`,
      receivedAt: new Date((nth % 7) * 1000),
    }))
    await sampleMessages(mail.app.db, mail.account, messages)
    const inInbox = new Set(
      messages.flatMap(({ mailboxIds, threadId }) => (mailboxIds[0] === mail.inbox ? threadId : [])),
    )

    const walks: Array<[string, number, number]> = [
      ['limit=7', 60, 9],
      ['limit=30', 60, 2],
      [`limit=9&mailboxId=${mail.inbox}`, inInbox.size, Math.ceil(inInbox.size / 9)],
    ]
    for (const [query, threadCount, pageCount] of walks) {
      const ids: string[] = []
      let cursor: string | null = ''
      let pages = 0
      while (cursor !== null) {
        const { body }: { body: Page } = await mail.list(`?${query}${cursor && `&cursor=${cursor}`}`)
        ids.push(...body.items.map(({ id }) => id))
        cursor = body.nextCursor
        pages++
      }
      expect({ query, pages, ids: ids.length, unique: new Set(ids).size }).toEqual({
        query,
        pages: pageCount,
        ids: threadCount,
        unique: threadCount,
      })
    }
  })

  test('counts only messages within the sync window', async () => {
    const mail = await openThreadApp({ syncWindowDays: 10 })
    const daysAgo = (days: number) => Date.now() / 1000 - days * 86_400
    await mail.add('t', daysAgo(20), { from: { name: null, address: 'old@example.com' } })
    await mail.add('t', daysAgo(5), { subject: 'newer' })
    await mail.add('gone', daysAgo(20))

    const { body } = await mail.list()
    expect(body.items).toMatchObject([
      { id: 't', messageCount: 1, participants: [{ address: 'ada@example.com' }] },
    ])
    expect((await mail.app.get<Thread>(`${mail.path}/t`)).body.messages).toMatchObject([{ subject: 'newer' }])
    expect(await mail.app.get(`${mail.path}/gone`)).toMatchObject({ status: 404 })
  })

  test('shows 25 threads by default and at most 100', async () => {
    const mail = await openThreadApp()
    await sampleMessages(
      mail.app.db,
      mail.account,
      Array.from({ length: 101 }, () => ({ mailboxIds: [mail.inbox] })),
    )
    expect((await mail.list()).body.items).toHaveLength(25)
    expect((await mail.list('?limit=100')).body.items).toHaveLength(100)
    expect(await mail.list('?limit=101')).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
  })
})

describe('GET /v1/accounts/{accountId}/threads/{threadId}', () => {
  test('adds the messages of every mailbox to the summary, oldest first', async () => {
    const mail = await openThreadApp()
    const id = `<odd/"id"?& ${'ü'.repeat(3)}>`
    await mail.add(id, 3, { subject: 'third' }, mail.sent)
    await mail.add(id, 1, { subject: 'first', from: null })
    await mail.add(id, 2, { subject: 'second' })
    await mail.add('other', 4)

    const { body: page } = await mail.list(`?mailboxId=${mail.inbox}`)
    const { status, body } = await mail.app.get<Thread>(`${mail.path}/${encodeURIComponent(id)}`)
    const { body: listed } = await mail.app.get<{ items: Thread['messages'] }>(
      mail.path.replace('threads', 'messages'),
    )

    expect(status).toBe(200)
    const { messages, ...summary } = body
    expect(summary).toEqual(page.items.find(item => item.id === id))
    expect(messages.map(({ subject }) => subject)).toEqual(['first', 'second', 'third'])
    expect(messages).toEqual(listed.items.filter(({ threadId }) => threadId === id).toReversed())
  })

  test('is thread_not_found if the account has no such thread', async () => {
    const mail = await openThreadApp()
    const other = await sampleAccount(mail.app.db, mail.app.tenantId)
    const box = await sampleMailbox(mail.app.db, other)
    await sampleMessageIn(mail.app.db, other, box.id, { threadId: 'theirs' })
    for (const id of ['theirs', 'x', newId(), 'x'.repeat(2000)]) {
      const { status, body } = await mail.app.get(`${mail.path}/${id}`)
      expect({ status, body }).toMatchObject({
        status: 404,
        body: { defined: true, code: 'thread_not_found' },
      })
    }
    expect((await mail.app.get(`${mail.path}/%00`)).status).toBe(404)
  })
})
