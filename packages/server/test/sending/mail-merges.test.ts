import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { waitUntil } from '../wait-until.ts'
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
  opened = await openSendingApp({ app: { config: { linksUrl: 'https://links.example.org' } } })
})
afterAll(() => opened[Symbol.asyncDispose]())

const readers = (count: number) =>
  Array.from({ length: count }, (_, nth) => ({
    to: { name: `Reader ${nth}`, address: `reader-${nth}@example.org` },
    reference: `reader-${nth}`,
  }))

async function merge(accountId: string, body: Record<string, unknown>): Promise<MergeItem[]> {
  const answer = await opened.app.post<{ items: MergeItem[] }>(`/v1/accounts/${accountId}/mail-merges`, {
    subject: 'News',
    text: 'There is news.\n',
    ...body,
  })
  if (answer.status !== 200) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`)
  return answer.body.items
}

async function listMerge(accountId: string, mailMergeId: string): Promise<OutboxEntry[]> {
  const { body } = await opened.app.get<{ items: OutboxEntry[] }>(
    `/v1/accounts/${accountId}/outbox?mailMergeId=${mailMergeId}&limit=200`,
  )
  return body.items
}

/** Waits until all entries of the merge have ended. */
function untilEnded(accountId: string, mailMergeId: string): Promise<OutboxEntry[]> {
  return waitUntil('the end of the merge', async () => {
    const entries = await listMerge(accountId, mailMergeId)
    return entries.every(({ status }) => status !== 'queued' && status !== 'sending') ? entries : null
  })
}

const acceptedBy = async (from: string) =>
  (await opened.sink.accepted()).filter(message => message.from === from)

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

describe('a mail merge to a list', () => {
  test('leaves out those who are suppressed, and gives each of the others an unsubscribe link of their own', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const suppress = (list: string, address: string) =>
      app.post(`/v1/suppressions/${list}/entries`, { addresses: [address], reason: 'asked' })
    await suppress('global', 'reader-0@example.org')
    await suppress('weekly', 'reader-2@example.org')
    await suppress('other', 'reader-3@example.org')
    const items = await merge(accountId, { listId: 'weekly', entries: readers(5) })
    expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
      'suppressed',
      null,
      'suppressed',
      null,
      null,
    ])
    const entries = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(entries.map(({ status, listId }) => [status, listId])).toEqual(
      Array.from({ length: 3 }, () => ['sent', 'weekly']),
    )
    const links = (await acceptedBy(user.email)).map(
      ({ content }) =>
        /^List-Unsubscribe: <(https:\/\/links\.example\.org\/u\/[^>]+)>/m.exec(
          content.replaceAll('\r\n ', ' '),
        )?.[1],
    )
    expect(new Set(links).size).toBe(3)
    expect(links).not.toContain(undefined)
    await app.delete('/v1/suppressions/global/entries/reader-0@example.org')
  })

  test('creates the list, and refuses fields of its own for unsubscribing', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const later = new Date(Date.now() + 3_600_000).toISOString()
    await merge(accountId, { listId: 'new-list', entries: readers(1), sendAt: later })
    const { body } = await app.get<{ items: Array<{ id: string }> }>('/v1/suppressions')
    expect(body.items.map(({ id }) => id)).toContain('new-list')
    expect(
      await app.post(`/v1/accounts/${accountId}/mail-merges`, {
        text: 'x',
        listId: 'new-list',
        headers: [{ name: 'List-Unsubscribe', value: '<https://example.org>' }],
        entries: readers(1),
      }),
    ).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['headers', 0, 'name'] }] } },
    })
  })
})

describe('a mail merge of a template', () => {
  test('renders each entry with its own values, and reports those that cannot be rendered', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const { body: template } = await app.post<{ id: string }>('/v1/templates', {
      name: 'greeting',
      subject: 'News for {{params.name}}',
      html: '<p>Dear {{params.name}}, <a href="{{rcpt.unsubscribeUrl}}">leave</a> {{#each params.many}}x{{/each}}</p>',
    })
    const entries = [
      { to: { address: 'ada@example.org' }, params: { name: 'Ada <b>' } },
      { to: { address: 'big@example.org' }, params: { name: 'x'.repeat(270_000) } },
      { to: { address: 'long@example.org' }, params: { many: Array.from({ length: 125_000 }, () => 1) } },
      { to: { address: 'bob@example.org' } },
    ]
    const shared = { subject: undefined, text: undefined, listId: 'readers' }
    const items = await merge(accountId, {
      ...shared,
      template: template.id,
      render: { params: { name: 'reader' } },
      entries,
    })
    expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
      null,
      'params_too_large',
      'template_render_failed',
      null,
    ])
    const ended = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(ended.map(({ subject, templateId }) => [subject, templateId]).toReversed()).toEqual([
      ['News for Ada <b>', template.id],
      ['News for reader', template.id],
    ])
    const contents = (await acceptedBy(user.email)).map(({ content }) => content.replaceAll('=\r\n', ''))
    expect(contents.filter(content => content.includes('Dear Ada &lt;b&gt;,'))).toHaveLength(1)
    for (const content of contents) {
      const link = /^List-Unsubscribe: <([^>]+)>/m.exec(content.replaceAll('\r\n ', ' '))?.[1] ?? 'none'
      expect(content).toContain(`href=3D"${link}"`)
    }
  })

  test('is refused as a whole if the template is missing, does not compile, or stands beside content', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const entries = readers(2)
    const refusals: Array<[object, number, string]> = [
      [{ entries, template: newId() }, 422, 'unknown_template'],
      [{ entries, render: { html: '{{#if}}' } }, 400, 'invalid_template'],
      [{ entries, render: { text: 'x' }, html: 'y' }, 400, 'invalid_input'],
    ]
    for (const [body, status, code] of refusals)
      expect(await app.post(`/v1/accounts/${accountId}/mail-merges`, body)).toMatchObject({
        status,
        body: { code },
      })
  })
})

describe('a tracked mail merge', () => {
  test('gives each message links of its own, which lead to where the HTML says', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const html = '<p><a href="https://example.org/news">News</a></p>'
    const items = await merge(accountId, { html, trackOpens: true, trackClicks: true, entries: readers(3) })
    const entries = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(entries.map(({ trackOpens, trackClicks }) => [trackOpens, trackClicks])).toEqual(
      Array.from({ length: 3 }, () => [true, true]),
    )
    const links = (await acceptedBy(user.email)).map(
      ({ content }) =>
        /https:\/\/links\.example\.org(\/t\/c\/[\w-]+)/.exec(content.replaceAll('=\r\n', ''))?.[1] ?? '',
    )
    expect(new Set(links).size).toBe(3)
    for (const link of links) {
      const answer = await fetch(`${app.address}${link}`, { redirect: 'manual' })
      expect([answer.status, answer.headers.get('location')]).toEqual([302, 'https://example.org/news'])
    }
  })
})

describe('the plan', () => {
  test('leaves the place of an entry that cannot be rendered to the next one', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const planId = newId()
    await sql`
      insert into plan (id, name, body_storage_allowed, sends_per_day)
      select ${planId}, 'two more', true, count(*) + 2 from outbox where tenant_id = ${app.tenantId}`.execute(
      app.db,
    )
    await sql`update tenant set plan_id = ${planId} where id = ${app.tenantId}`.execute(app.db)
    try {
      const items = await merge(accountId, {
        subject: undefined,
        text: undefined,
        render: { text: '{{params.name}}' },
        entries: ['x'.repeat(270_000), 'Ada', 'Bob', 'Cleo'].map(name => ({
          to: { address: 'reader@example.org' },
          params: { name },
        })),
      })
      expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
        'params_too_large',
        null,
        null,
        'plan_limit_sends',
      ])
    } finally {
      await sql`update tenant set plan_id = null where id = ${app.tenantId}`.execute(app.db)
    }
  })

  test('lets merges and single sends have what the day has left, however many ask at once', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from outbox where tenant_id = ${app.tenantId}`.execute(app.db)
    const queuedBefore = rows[0]!.count
    const planId = newId()
    await sql`
      insert into plan (id, name, body_storage_allowed, sends_per_day)
      values (${planId}, 'small', true, ${queuedBefore + 20})`.execute(app.db)
    await sql`update tenant set plan_id = ${planId} where id = ${app.tenantId}`.execute(app.db)
    try {
      const later = new Date(Date.now() + 3_600_000).toISOString()
      const [singles, ...merges] = await Promise.all([
        Promise.all(
          Array.from({ length: 4 }, () =>
            app.post(`/v1/accounts/${accountId}/outbox`, {
              to: readers(1).map(({ to }) => to),
              sendAt: later,
            }),
          ),
        ),
        ...Array.from({ length: 3 }, () => merge(accountId, { entries: readers(8), sendAt: later })),
      ])
      const single = singles.filter(({ status }) => status === 200).length
      const queued = merges.map(items => items.filter(({ outboxId }) => outboxId !== null).length)
      expect(single + queued.reduce((sum, count) => sum + count, 0)).toBe(20)
      for (const [nth, items] of merges.entries())
        expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
          ...Array.from({ length: queued[nth]! }, () => null),
          ...Array.from({ length: 8 - queued[nth]! }, () => 'plan_limit_sends'),
        ])
      // What was not queued left nothing behind.
      const left = await sql<{ entries: number; known: number; contents: number }>`
        select (select count(*) from outbox where account_id = ${accountId})::int as entries,
          (select count(*) from sent_message where account_id = ${accountId})::int as known,
          (select count(*) from outbox_content where account_id = ${accountId})::int as contents`.execute(
        app.db,
      )
      expect(left.rows).toEqual([{ entries: 20, known: 20, contents: 20 }])
      const more = await merge(accountId, { entries: readers(2) })
      expect(more.map(({ error }) => error?.reason)).toEqual(['plan_limit_sends', 'plan_limit_sends'])
    } finally {
      await sql`update tenant set plan_id = null where id = ${app.tenantId}`.execute(app.db)
    }
  })
})

describe('a merge that waits', () => {
  test('is overtaken by a single send of its account', async () => {
    const { app, imap, sink } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const gate = Promise.withResolvers<void>()
    let isOpen = false
    let handedOver = 0
    sink.behave = async ({ step }) => {
      if (step === 'dot' && !isOpen) {
        handedOver++
        await gate.promise
      }
      return null
    }
    await merge(accountId, { entries: readers(40) })
    await waitUntil('three messages to be handed over', async () => handedOver === 3)
    const single = await send(app, accountId, { subject: 'Urgent' })
    isOpen = true
    gate.resolve()
    await waitForStatus(app, single, 'sent')
    const accepted = await acceptedBy(user.email)
    // Those that ran already, and those that end beside it.
    expect(accepted.findIndex(({ messageId }) => messageId === single.internetMessageId)).toBeLessThan(9)
    sink.behave = () => null
    await waitUntil('all messages', async () => (await acceptedBy(user.email)).length === 41)
  })

  test('keeps the time between its hand-overs, also after a pause, and other mail does not wait for it', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const items = await merge(accountId, { entries: readers(5), intervalSeconds: 1, sendAt: later })
    const [{ mailMergeId } = { mailMergeId: '' }] = items
    const planned = (await listMerge(accountId, mailMergeId)).toReversed()
    expect(planned.map(({ sendAt }) => Date.parse(sendAt) - Date.parse(later))).toEqual([
      0, 1000, 2000, 3000, 4000,
    ])
    // As if the account could not be used meanwhile: all of them are due.
    await sql`update outbox set due_at = now() where account_id = ${accountId}`.execute(app.db)
    await sql`update mail_merge_pace set due_at = clock_timestamp() where account_id = ${accountId}`.execute(
      app.db,
    )
    await sql`update sending_account set due_at = clock_timestamp() where account_id = ${accountId}`.execute(
      app.db,
    )
    const single = await send(app, accountId)
    await waitForStatus(app, single, 'sent')
    await untilEnded(accountId, mailMergeId)
    expect(await gapsOf(mailMergeId)).toHaveLength(4)
    for (const gap of await gapsOf(mailMergeId)) expect(gap).toBeGreaterThanOrEqual(1)
    const order = (await acceptedBy(user.email)).flatMap(({ to }) => (to[0]!.startsWith('reader') ? to : []))
    expect(order).toEqual(readers(5).map(({ to }) => to.address))
    await waitUntil('nobody to look at the merge any more', async () => {
      const { rows } = await sql<{ due_at: Date | null }>`
        select due_at from mail_merge_pace where id = ${mailMergeId}`.execute(app.db)
      return rows[0]?.due_at === null
    })
  })

  test('lets an entry be sent at once, however late the others are', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const items = await merge(accountId, { entries: readers(3), intervalSeconds: 3600, sendAt: later })
    const { outboxId, mailMergeId } = items[2]!
    const path = `/v1/accounts/${accountId}/outbox/${outboxId}`
    await app.patch(path, { sendAt: null })
    expect((await app.get<OutboxEntry>(`${path}?waitSeconds=30`)).body).toMatchObject({ status: 'sent' })
    const entries = await listMerge(accountId, mailMergeId)
    expect(entries.map(({ status }) => status)).toEqual(['sent', 'queued', 'queued'])
  })

  test('tries an entry again in time, however late the others are', async () => {
    const { app, imap, sink } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const later = new Date(Date.now() + 3_600_000).toISOString()
    sink.behave = ({ step, argument, times }) =>
      step === 'rcpt' && argument === 'again@example.org' && times === 1 ? '451 4.2.1 later' : null
    const items = await merge(accountId, {
      intervalSeconds: 1,
      entries: [{ to: { address: 'again@example.org' } }, { ...readers(1)[0], sendAt: later }],
    })
    const path = `/v1/accounts/${accountId}/outbox/${items[0]!.outboxId}`
    await waitUntil('the first attempt', async () => (await app.get<OutboxEntry>(path)).body.attempts === 1)
    // As if two minutes had passed.
    for (const table of ['outbox', 'mail_merge_pace', 'sending_account'])
      await sql`
        update ${sql.table(table)} set due_at = due_at - interval '2 minutes' where account_id = ${accountId}
      `.execute(app.db)
    expect((await app.get<OutboxEntry>(`${path}?waitSeconds=30`)).body).toMatchObject({ status: 'sent' })
    sink.behave = () => null
  })

  /** Seconds between the hand-overs of a merge. */
  async function gapsOf(mailMergeId: string): Promise<number[]> {
    const { rows } = await sql<{ gap: number }>`
      select extract(epoch from handed_over_at - lag(handed_over_at) over (order by handed_over_at))::float8 as gap
      from outbox where mail_merge_id = ${mailMergeId} order by handed_over_at offset 1`.execute(
      opened.app.db,
    )
    return rows.map(({ gap }) => gap)
  }
})
