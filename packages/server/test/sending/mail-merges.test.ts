/** @module-tag postgres-16-in-soak */
import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import { merging, readers } from './merging.ts'
import {
  connectSender,
  openSendingApp,
  send,
  type SendingApp,
  sendEvents,
  waitForStatus,
} from './open-sending.ts'

let opened: SendingApp
beforeAll(async () => {
  opened = await openSendingApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

const { acceptedBy, listMerge, merge, untilEnded } = merging(() => opened)

describe('a mail merge', () => {
  test('sends each entry a message of its own, in their order', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const items = await merge(accountId, {
      html: '<p>There is <b>news</b>.</p>',
      replyTo: [{ address: 'answers@example.org' }],
      headers: [{ name: 'X-Campaign', value: 'autumn' }],
      importance: 'low',
      entries: readers(7),
    })
    const [{ mailMergeId } = { mailMergeId: '' }] = items
    expect(items).toMatchObject(
      readers(7).map(({ to }, index) => ({ index, address: to.address, mailMergeId, error: null })),
    )
    const entries = await untilEnded(accountId, mailMergeId)
    expect(entries.map(({ id }) => id).toReversed()).toEqual(items.map(({ outboxId }) => outboxId))
    expect(entries.at(-1)).toMatchObject({
      status: 'sent',
      mailMergeId,
      to: [readers(1)[0]!.to],
      reference: 'reader-0',
      subject: 'News',
      replyTo: [{ address: 'answers@example.org' }],
      importance: 'low',
    })
    const messages = await acceptedBy(user.email)
    expect(messages.map(({ to }) => to).toSorted()).toEqual(readers(7).map(({ to }) => [to.address]))
    for (const { content, to } of messages) {
      expect(content).toContain(`To: Reader ${to[0]!.slice(7, 8)} <${to[0]}>\r\n`)
      expect(content).toContain('X-Campaign: autumn\r\n')
    }
    expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(7)
    const events = await sendEvents(app)
    expect(events.filter(({ data }) => data.outbox.mailMergeId === mailMergeId)).toHaveLength(7)
    const other = await send(app, accountId)
    expect(await listMerge(accountId, mailMergeId)).toHaveLength(7)
    await waitForStatus(app, other, 'sent')
  })

  test('reports what is wrong with an entry by its item, and sends the others', async () => {
    const accountId = await connectSender(opened.app, opened)
    const late = new Date(Date.now() + 366 * 86_400_000).toISOString()
    const items = await merge(accountId, {
      entries: [
        { to: { address: 'no address' } },
        { to: { address: 'good@example.org' } },
        { to: { address: 'good@example.org', name: 'two\r\nlines' } },
        { to: { address: 'good@example.org' }, sendAt: late },
        { to: { address: 'second@example.org' } },
      ],
    })
    expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
      'invalid_input',
      null,
      'invalid_input',
      'invalid_input',
      null,
    ])
    expect(items[0]?.error?.message).toMatch(/^to\.address must be an email address/)
    expect(items[2]?.error?.message).toMatch(/^to\.name /)
    expect(items[3]?.error?.message).toMatch(/^sendAt /)
    expect(items.map(({ outboxId }) => outboxId !== null)).toEqual([false, true, false, false, true])
    const [{ mailMergeId } = { mailMergeId: '' }] = items
    expect((await untilEnded(accountId, mailMergeId)).map(({ status }) => status)).toEqual(['sent', 'sent'])
  })

  test('may queue nothing at all', async () => {
    const accountId = await connectSender(opened.app, opened)
    const items = await merge(accountId, { entries: [{ to: { address: 'none' } }] })
    expect(items).toMatchObject([{ index: 0, address: 'none', outboxId: null }])
  })

  test('is refused as a whole for what its entries share', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const entries = readers(1)
    const refusals: Array<[object, number, string]> = [
      [{ entries: [] }, 400, 'invalid_input'],
      [{ entries: readers(1001) }, 400, 'invalid_input'],
      [{ entries: [{ ...entries[0], colour: 'red' }] }, 400, 'invalid_input'],
      [{ entries, cc: [{ address: 'cc@example.org' }] }, 400, 'invalid_input'],
      [{ entries, intervalSeconds: 3601 }, 400, 'invalid_input'],
      [{ entries, sendAt: '2020-01-01T00:00:00Z' }, 400, 'invalid_input'],
      [{ entries, from: { address: 'other@example.org' } }, 400, 'from_not_allowed'],
      [
        { entries, attachments: [{ content: Buffer.alloc(26e6 + 500_000).toString('base64') }] },
        400,
        'attachments_too_large',
      ],
    ]
    for (const [body, status, code] of refusals)
      expect(await app.post(`/v1/accounts/${accountId}/mail-merges`, body)).toMatchObject({
        status,
        body: { code },
      })
    const { rows } = await sql`select from outbox where account_id = ${accountId}`.execute(app.db)
    expect(rows).toEqual([])
  })

  test('answers a repeated Idempotency-Key alike, and queues nothing more', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const ask = async () => {
      const answer = await fetch(`${app.address}/v1/accounts/${accountId}/mail-merges`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'one-merge',
        },
        body: JSON.stringify({ text: 'once', entries: readers(30) }),
      })
      return (await answer.json()) as { items: MergeItem[] }
    }
    const first = await ask()
    expect(first.items).toHaveLength(30)
    expect(await ask()).toEqual(first)
    await untilEnded(accountId, first.items[0]!.mailMergeId)
    const { rows } = await sql`select from outbox where account_id = ${accountId}`.execute(app.db)
    expect(rows).toHaveLength(30)
  })
})

describe('the files of a mail merge', () => {
  const inline = {
    filename: 'logo.png',
    contentType: 'image/png',
    contentId: 'logo',
    isInline: true,
    content: 'bG9nbw==',
  }
  const bytes = Buffer.alloc(3_000_000, 'Waxwing')
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at)
  const attached = { filename: 'a.bin', content: bytes.toString('base64') }

  test('are stored once, arrive whole, and are deleted with the last message that needs them', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const items = await merge(accountId, {
      html: '<p>News <img src="cid:logo"></p>',
      attachments: [inline, attached],
      sendAt: later,
      entries: readers(6),
    })
    const stored = async () => {
      const { rows } = await sql<{ contents: number; bytes: number }>`
        select count(distinct content.id)::int as contents, coalesce(sum(length(piece.sealed)), 0)::int as bytes
        from outbox_content as content left join outbox_piece as piece on piece.content_id = content.id
        where account_id = ${accountId}`.execute(app.db)
      return rows[0]!
    }
    const before = await stored()
    expect(before.contents).toBe(7)
    expect(before.bytes).toBeLessThan(1.4 * attached.content.length)
    for (const { outboxId } of items.slice(0, 4))
      expect(await app.delete(`/v1/accounts/${accountId}/outbox/${outboxId}`)).toMatchObject({ status: 200 })
    expect((await stored()).contents).toBe(3)
    for (const { outboxId } of items.slice(4))
      await app.patch(`/v1/accounts/${accountId}/outbox/${outboxId}`, { sendAt: null })
    const entries = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(entries.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => 'cancelled'),
      'sent',
      'sent',
    ])
    const messages = await acceptedBy(user.email)
    expect(messages).toHaveLength(2)
    for (const { content } of messages) {
      expect(content.replaceAll('\r\n', '')).toContain(attached.content)
      expect(content).toContain('Content-ID: <logo>')
      expect(content).toMatch(/\r\n--=_[0-9a-f]{32}--\r\n$/)
    }
    expect(messages.map(({ content }) => content.length)).toEqual(
      entries.filter(({ status }) => status === 'sent').map(({ size }) => size),
    )
    await waitUntil('the content to be gone', async () => (await stored()).contents === 0)
  })
})
