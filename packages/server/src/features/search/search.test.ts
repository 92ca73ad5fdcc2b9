import { randomUUID } from 'node:crypto'
import type { SearchAnswer } from '@waxwing/contract/search.ts'
import { describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/open-app.ts'
import {
  sampleAccount,
  sampleMailbox,
  type SampleMessage,
  sampleMessages,
} from '../../../test/sample-rows.ts'

type Given = Omit<SampleMessage, 'mailboxIds'> & { mailbox?: string }
type Filters = Record<string, string | number | boolean>

/** An account with these messages, the first the newest, and a way to search it that answers with subjects. */
async function openAccount(app: TestApp, messages: readonly Given[]) {
  const account = await sampleAccount(app.db, app.tenantId)
  const mailboxes = new Map<string, string>()
  for (const { mailbox = 'INBOX' } of messages) {
    if (!mailboxes.has(mailbox))
      mailboxes.set(mailbox, (await sampleMailbox(app.db, account, { name: mailbox })).id)
  }
  const rows = messages.map(({ mailbox = 'INBOX', ...message }, nth) => ({
    receivedAt: new Date(Date.UTC(2026, 0, 1) - nth * 60_000),
    ...message,
    mailboxIds: [mailboxes.get(mailbox)!],
  }))
  const ids = await sampleMessages(app.db, account, rows)
  const ask = (q: string, filters: Filters = {}) => {
    const query = new URLSearchParams({ q, source: 'index' })
    for (const [name, value] of Object.entries(filters)) query.set(name, String(value))
    return app.get<SearchAnswer>(`/v1/accounts/${account.id}/search/messages?${query}`)
  }
  return {
    account,
    ids,
    mailboxId: (name: string) => mailboxes.get(name)!,
    ask,
    async find(q: string, filters: Filters = {}) {
      const { status, body } = await ask(q, filters)
      expect(status, JSON.stringify(body)).toBe(200)
      return body.items.map(({ subject }) => subject)
    },
  }
}

describe('GET /v1/accounts/{accountId}/search/messages', () => {
  test('finds', async () => {
    await using app = await openTestApp()
    const { find } = await openAccount(app, [
      { subject: 'one', snippet: 'gamma' },
      { subject: 'two', snippet: 'alpha beta' },
      { subject: 'alpha', snippet: 'beta' },
    ])
    expect(await find('alpha')).toEqual(['alpha', 'two'])
    expect(await find('"alpha beta"')).toEqual(['two'])
    expect(await find('-alpha')).toEqual(['one'])
    expect(await find('alpha', { unread: true, from: 'ada', limit: 1 })).toEqual(['alpha'])
    expect(await find(randomUUID())).toEqual([])
  })
})
