/** @module-tag postgres-16 */
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  sampleAccount,
  sampleMailbox,
  sampleMessageIn,
  sampleMessages,
} from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { newId } from '../../../kit/ids.ts'
import { presentSummary, summaryColumns, type SummaryRow } from './present.ts'

const { newTenant } = useTestApp()

interface Page {
  items: MessageSummary[]
  nextCursor: string | null
}

/** An account with the mailboxes Inbox and Archive, and how to list it. */
async function openMailApp(override: object = { syncWindowDays: null }) {
  const app = await newTenant()
  const account = await sampleAccount(app.db, app.tenantId, { settings_override: JSON.stringify(override) })
  const inbox = await sampleMailbox(app.db, account, { name: 'Inbox', role: 'inbox' })
  const archive = await sampleMailbox(app.db, account, { name: 'Archive' })
  const path = `/v1/accounts/${account.id}/messages`
  return {
    app,
    account,
    inbox: inbox.id,
    archive: archive.id,
    path,
    list: (query = '') => app.get<Page>(path + query),
    add: (message: Parameters<typeof sampleMessageIn>[3] = {}, mailboxId = inbox.id) =>
      sampleMessageIn(app.db, account, mailboxId, message),
    async subjects(query: string) {
      const { status, body } = await app.get<Page>(path + query)
      return status === 200 ? body.items.map(({ subject }) => subject) : body
    },
  }
}

describe('GET /v1/accounts/{accountId}/messages', () => {
  test('shows every field of a summary, and null where there is no value', async () => {
    const mail = await openMailApp()
    const receivedAt = new Date('2026-03-01T10:00:00.120Z')
    const full = await mail.add({
      subject: 'Grüße “quoted” \\ and\ttab \u2028 🐦',
      from: { name: 'Ada "Countess" Lovelace', address: 'ada@example.com' },
      to: [{ name: null, address: 'bob@example.com' }],
      cc: [{ name: 'Čapek', address: 'c@example.com' }],
      bcc: [{ name: null, address: 'hidden@example.com' }],
      snippet: 'Hello',
      threadId: 'T-1',
      isRead: true,
      importance: 'high',
      receivedAt,
    })
    const bare = await mail.add({
      subject: null,
      from: null,
      threadId: null,
      importance: null,
      receivedAt: new Date(0),
    })

    const { status, body } = await mail.list()

    const unset = { internetMessageId: null, sentAt: null, outboxId: null, reference: null }
    const flags = {
      isFlagged: false,
      isDraft: false,
      hasAttachments: false,
      categories: [],
      direction: 'inbound',
    }
    expect(status).toBe(200)
    expect(body).toEqual({
      nextCursor: null,
      items: [
        {
          ...unset,
          ...flags,
          id: full,
          threadId: 'T-1',
          mailboxIds: [mail.inbox],
          subject: 'Grüße “quoted” \\ and\ttab \u2028 🐦',
          from: { name: 'Ada "Countess" Lovelace', address: 'ada@example.com' },
          to: [{ name: null, address: 'bob@example.com' }],
          cc: [{ name: 'Čapek', address: 'c@example.com' }],
          snippet: 'Hello',
          receivedAt: '2026-03-01T10:00:00.120Z',
          isRead: true,
          importance: 'high',
        },
        {
          ...unset,
          ...flags,
          id: bare,
          threadId: null,
          mailboxIds: [mail.inbox],
          subject: null,
          from: null,
          to: [],
          cc: [],
          snippet: '',
          receivedAt: '1970-01-01T00:00:00.000Z',
          isRead: false,
          importance: null,
        },
      ],
    })
  })

  test('shows a message as events show it', async () => {
    const mail = await openMailApp()
    await mail.add({
      subject: '"\\/\b\f\n\r\t\u001f\u007f\u2029é🐦',
      snippet: '</script>',
      receivedAt: new Date(1),
    })
    await mail.add({ subject: null, from: null, to: [{ name: '', address: '' }], receivedAt: new Date(0) })
    const { rows } = await sql<SummaryRow>`
      select ${summaryColumns} from message where account_id = ${mail.account.id} order by received_at desc
    `.execute(mail.app.db)

    const { body } = await mail.list()
    expect(body.items).toEqual(rows.map(presentSummary))
    expect(body.items.map(item => Object.keys(item))).toEqual(
      rows.map(row => Object.keys(presentSummary(row))),
    )
  })

  test('narrows by mailbox', async () => {
    const mail = await openMailApp()
    await mail.add({ subject: 'in the inbox' })
    await mail.add({ subject: 'archived' }, mail.archive)
    expect(await mail.subjects(`?mailboxId=${mail.archive.toUpperCase()}`)).toEqual(['archived'])
  })

  test('answers differently for an unknown mailbox, one of another account and an empty one', async () => {
    const mail = await openMailApp()
    const other = await sampleAccount(mail.app.db, mail.app.tenantId)
    const foreign = await sampleMailbox(mail.app.db, other)
    await sampleMessageIn(mail.app.db, other, foreign.id)

    for (const id of [newId(), foreign.id]) {
      const { status, body } = await mail.app.get(`${mail.path}?mailboxId=${id}`)
      expect({ status, body }).toMatchObject({
        status: 422,
        body: { code: 'unknown_mailbox', data: { ids: [id] } },
      })
    }
    expect(await mail.list(`?mailboxId=${mail.archive}`)).toMatchObject({ status: 200, body: { items: [] } })
    expect(await mail.app.get(`${mail.path}?mailboxId=nonsense`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['mailboxId'] }] } },
    })
  })

  test('finds parts of names and addresses in any case, and takes no character for a pattern', async () => {
    const mail = await openMailApp()
    const ada = { name: 'Ada_Lovelace 100%', address: 'ada@example.com' }
    const bob = { name: 'БОБ \\o/', address: 'bob@example.org' }
    await mail.add({ subject: '1', from: ada, to: [bob], receivedAt: new Date(1000) })
    await mail.add({ subject: '2', from: bob, cc: [ada], receivedAt: new Date(2000) })
    await mail.add({ subject: '3', from: null, bcc: [bob], receivedAt: new Date(3000) })

    const found: Array<[string, string[]]> = [
      ['from=LOVELACE', ['1']],
      ['from=a_l', ['1']],
      ['from=x_m', []],
      ['from=0%25', ['1']],
      ['from=%25', ['1']],
      [`from=${encodeURIComponent('боб')}`, ['2']],
      [`from=${encodeURIComponent('\\o')}`, ['2']],
      ['from=example', ['2', '1']],
      ['to=BOB@', ['3', '1']],
      ['to=ada@example.com', ['2']],
      ['to=ada&from=bob', ['2']],
      ["from=' or true --", []],
    ]
    for (const [query, subjects] of found)
      expect({ query, found: await mail.subjects(`?${query}`) }).toEqual({ query, found: subjects })
    for (const query of ['from=', `to=${'x'.repeat(321)}`, 'from=%00']) {
      expect(await mail.list(`?${query}`)).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    }
  })

  test('narrows by flags and importance, alone and together', async () => {
    const mail = await openMailApp()
    await mail.add({ subject: 'plain', isRead: true, receivedAt: new Date(1000) })
    await mail.add({ subject: 'unread', isRead: false, importance: 'low', receivedAt: new Date(2000) })
    await mail.add({
      subject: 'flagged',
      isRead: true,
      isFlagged: true,
      importance: null,
      receivedAt: new Date(3000),
    })
    await mail.add({
      subject: 'attached',
      isRead: true,
      hasAttachments: true,
      importance: 'high',
      receivedAt: new Date(4000),
    })

    const found: Array<[string, string[]]> = [
      ['unread=true', ['unread']],
      ['unread=false', ['attached', 'flagged', 'plain']],
      ['flagged=true', ['flagged']],
      ['flagged=false&unread=false', ['attached', 'plain']],
      ['hasAttachments=true', ['attached']],
      ['hasAttachments=false', ['flagged', 'unread', 'plain']],
      ['importance=high', ['attached']],
      ['importance=normal', ['plain']],
      ['importance=low&unread=true', ['unread']],
      ['importance=low&unread=false', []],
    ]
    for (const [query, subjects] of found) {
      expect({ query, found: await mail.subjects(`?${query}`) }).toEqual({ query, found: subjects })
      const inMailbox = await mail.subjects(`?${query}&mailboxId=${mail.inbox}`)
      expect({ query, found: inMailbox }).toEqual({ query, found: subjects })
    }
    for (const query of ['unread=1', 'flagged=', 'importance=urgent', 'isRead=true']) {
      expect(await mail.list(`?${query}`)).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    }
  })

  test('includes after and excludes before', async () => {
    const mail = await openMailApp()
    for (const second of [1, 2, 3])
      await mail.add({ subject: `${second}`, receivedAt: new Date(second * 1000) })

    expect(await mail.subjects('?after=1970-01-01T00:00:02Z')).toEqual(['3', '2'])
    expect(await mail.subjects('?before=1970-01-01T00:00:02Z')).toEqual(['1'])
    expect(await mail.subjects('?after=1970-01-01T02:00:02%2B02:00&before=1970-01-01T00:00:02.001Z')).toEqual(
      ['2'],
    )
    expect(
      await mail.subjects(`?mailboxId=${mail.inbox}&after=1970-01-01T00:00:02Z&before=1970-01-01T00:00:03Z`),
    ).toEqual(['2'])
    expect(await mail.subjects('?after=0000-01-01T00:00:00Z&before=9999-12-31T23:59:59Z')).toEqual([
      '3',
      '2',
      '1',
    ])
    for (const before of ['1970-01-01T00:00:02Z', '1970-01-01T00:00:01Z']) {
      const { status, body } = await mail.list(`?after=1970-01-01T00:00:02Z&before=${before}`)
      expect({ status, body }).toMatchObject({ status: 400, body: { code: 'invalid_range' } })
    }
    for (const after of ['yesterday', '2026-01-01', '2026-01-01T00:00:00', '2026-02-30T00:00:00Z']) {
      expect(await mail.list(`?after=${after}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_input' },
      })
    }
  })

  test('shows only messages within the sync window, the account’s own before its tenant’s', async () => {
    const mail = await openMailApp({ syncWindowDays: 10 })
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
    await mail.add({ subject: 'recent', receivedAt: daysAgo(9) })
    await mail.add({ subject: 'old', receivedAt: daysAgo(11) })
    await mail.add({ subject: 'ancient', receivedAt: daysAgo(91) })
    const own = (override: object) =>
      mail.app.db
        .updateTable('account')
        .set({ settings_override: JSON.stringify(override) })
        .where('id', '=', mail.account.id)
        .execute()

    expect(await mail.subjects('')).toEqual(['recent'])
    expect(await mail.subjects(`?mailboxId=${mail.inbox}`)).toEqual(['recent'])
    await own({})
    expect(await mail.subjects('')).toEqual(['recent', 'old'])
    await own({ syncWindowDays: null })
    expect(await mail.subjects('')).toEqual(['recent', 'old', 'ancient'])
  })

  test('is bounded by limit, 50 where none is named', async () => {
    const mail = await openMailApp()
    await sampleMessages(
      mail.app.db,
      mail.account,
      Array.from({ length: 201 }, () => ({ mailboxIds: [mail.inbox] })),
    )
    for (const limit of [1, 25, 26, 200])
      expect((await mail.list(`?limit=${limit}`)).body.items).toHaveLength(limit)
    expect((await mail.list()).body.items).toHaveLength(50)
    for (const limit of ['0', '201', '-1', '1.5', 'x', '']) {
      expect(await mail.list(`?limit=${limit}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_input' },
      })
    }
  })

  test('is account_not_found for accounts that the key may not see', async () => {
    const mail = await openMailApp()
    const other = await sampleAccount(mail.app.db, mail.app.tenantId)
    const bound = mail.app.as((await mail.app.createKey({ accountIds: [other.id] })).text)
    const stranger = await mail.app.createTenant()
    for (const caller of [bound, stranger]) {
      for (const list of ['mailboxes', 'messages', 'threads', 'threads/x']) {
        const answer = await caller.get(`/v1/accounts/${mail.account.id}/${list}`)
        expect(answer).toMatchObject({ status: 404, body: { code: 'account_not_found' } })
      }
    }
  })
})
