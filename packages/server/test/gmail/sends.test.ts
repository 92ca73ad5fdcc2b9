import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { recordRestore } from '../../src/database/feed-epoch.ts'
import { parse } from '../bodies/facts.ts'
import {
  readEntry,
  send,
  sendEvents,
  waitForCopy,
  waitForEntry,
  waitForStatus,
} from '../sending/open-sending.ts'
import { hurryTasks } from '../sending/killable-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { configureGmail, type GmailClient, openGmailClient } from './gmail-client.ts'
import { connectGmail, letter, openGmailApp } from './open-gmail-app.ts'

const HOST = 'gmail.googleapis.com'
const UPLOAD = '/upload/gmail/v1/users/me/messages/send'

const opened = useServer(() => openGmailApp())

async function sentBy(client: GmailClient): Promise<string[]> {
  const sent = (await client.messages()).filter(({ labelIds }) => labelIds.includes('SENT'))
  return Promise.all(sent.map(({ id }) => client.rawOf(id)))
}

const withCopy = (entry: OutboxEntry) => waitForCopy(opened().app, entry)

/** Makes a look-up that waits due. */
async function hurryLookUp(entry: OutboxEntry, change = sql`task_at = clock_timestamp()`): Promise<void> {
  await sql`update outbox set ${change} where id = ${entry.id} and task = 'look_up'`.execute(opened().app.db)
}

describe.concurrent('a send by Gmail', () => {
  test('has one copy, which names the send (C36)', async () => {
    const { app, sandbox } = opened()
    const account = await connectGmail(opened())
    const { client, accountId } = account
    await sandbox.addUser('other@gmail.test')
    const other = await openGmailClient(sandbox, 'other@gmail.test')
    const entry = await send(app, accountId, { bcc: [{ address: 'other@gmail.test' }], reference: 'order-7' })
    const sent = await withCopy(entry)
    expect(sent).toMatchObject({ attempts: 1, internetMessageId: entry.internetMessageId })
    const [raw, ...more] = await sentBy(client)
    expect(more).toEqual([])
    expect(raw).toMatch(/^Bcc: other@gmail\.test\r$/m)
    const copy = await account.message('Hello')
    expect(copy).toMatchObject({
      id: sent.messageId,
      threadId: sent.threadId,
      outboxId: entry.id,
      reference: 'order-7',
      direction: 'outbound',
    })
    await waitUntil('it to arrive', async () => (await other.messages()).length === 1 || null)
    expect((await account.settledFeed()).filter(line => line.startsWith('message.created'))).toEqual([
      'message.created Hello',
    ])
  })

  test('has links that people of the sandbox can follow, on the address of this machine', async () => {
    const { app, sandbox } = opened()
    const { accountId } = await connectGmail(opened())
    await sandbox.addUser('clicking@gmail.test')
    const reader = await openGmailClient(sandbox, 'clicking@gmail.test')
    await send(app, accountId, {
      to: [{ address: 'clicking@gmail.test' }],
      listId: 'news',
      html: '<a href="https://example.org/one">one</a>',
      trackClicks: true,
    })
    await waitUntil('it to arrive', async () => (await reader.messages()).length === 1 || null)
    const [message] = await reader.messages()
    const raw = await reader.rawOf(message!.id)
    const [, click = ''] = /href="([^"]+)"/.exec(parse(Buffer.from(raw)).html ?? '') ?? []
    const clicked = await fetch(click, { redirect: 'manual' })
    expect(clicked.headers.get('location')).toBe('https://example.org/one')
    const [, leave = ''] = /^List-Unsubscribe:\s+<(.*)>\r$/m.exec(raw) ?? []
    expect(leave).toContain(`${app.address}/u/`)
    const oneClick = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    expect((await fetch(leave, { method: 'POST', body: oneClick })).status).toBe(200)
  })

  test('that is larger than one request is uploaded in a session', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const content = Buffer.alloc(1_500_000, 7).toString('base64')
    const attachments = [{ filename: 'seven.bin', contentType: 'application/octet-stream', content }]
    const entry = await send(app, account.accountId, { attachments })
    await withCopy(entry)
    expect((await sentBy(account.client))[0]!.length).toBeGreaterThan(2_000_000)
  })

  // From here on, faults and settings of Gmail are those of every account.
  test(
    'keeps its thread and links its copy, although Gmail replaced the Message-ID (C36, C37)',
    { concurrent: false },
    async () => {
      const { app, sandbox } = opened()
      const account = await connectGmail(opened(), client => client.insert(letter('talk'), ['INBOX']))
      const replied = await account.message('talk')
      await configureGmail(sandbox, { overwriteMessageIds: true })
      const entry = await send(app, account.accountId, { subject: undefined, inReplyTo: replied.id })
      const sent = await withCopy(entry)
      await configureGmail(sandbox, { overwriteMessageIds: false })
      expect(sent.threadId).toBe(replied.threadId)
      const [raw] = await sentBy(account.client)
      expect(raw).toMatch(/^In-Reply-To: <talk@example.com>\r$/m)
      expect(raw).toMatch(/^References: <talk@example.com>\r$/m)
      const messageId = /^Message-ID: (\S+)\r$/im.exec(raw!)![1]!
      expect(messageId).not.toBe(entry.internetMessageId)
      const linked = await waitUntil('the Message-ID', async () => {
        await hurryTasks(app.db)
        const now = await readEntry(app, entry)
        return now.internetMessageId === messageId && now
      })
      expect(linked.messageId).toBe(sent.messageId)
      // An answer to the new Message-ID is known as one.
      await account.client.insert(
        letter('reply', `In-Reply-To: ${messageId}\r\nReferences: ${messageId}\r\n`),
        ['INBOX', 'UNREAD'],
      )
      const reply = await account.message('reply')
      const { rows } = await sql<{
        answered_outbox_id: string
      }>`select answered_outbox_id from message where id = ${reply.id}`.execute(app.db)
      expect(rows).toEqual([{ answered_outbox_id: entry.id }])
    },
  )

  test('that Gmail refuses fails with its words, at once', { concurrent: false }, async () => {
    const { app, sandbox } = opened()
    const account = await connectGmail(opened())
    await sandbox.addFault({ does: 'error', status: 400, host: HOST, path: UPLOAD, count: 1 })
    const failed = await waitForStatus(app, await send(app, account.accountId), 'failed')
    expect(failed.lastError).toMatchObject({
      reason: 'provider_rejected',
      message: expect.stringContaining('400'),
    })
    expect(await sentBy(account.client)).toEqual([])
  })

  test('waits as long as Gmail asks for', { concurrent: false }, async () => {
    const { app, sandbox } = opened()
    const account = await connectGmail(opened())
    await sandbox.addFault({ does: 'rate_limit', retryAfterSeconds: 90, host: HOST, path: UPLOAD, count: 1 })
    const before = Date.now()
    const entry = await send(app, account.accountId)
    const waiting = await waitForEntry(
      app,
      entry,
      'a retry',
      ({ attempts, status }) => attempts === 1 && status === 'queued',
    )
    expect(waiting.lastError?.reason).toBe('provider_throttled')
    expect(new Date(waiting.nextAttemptAt!).getTime() - before).toBeGreaterThanOrEqual(90_000)
    // Its retry would meet a fault of another test.
    expect((await app.delete(`${account.path}/outbox/${entry.id}`)).status).toBe(200)
  })
})

describe('a send by Gmail whose answer is lost', () => {
  test.each([false, true])(
    'is found, sent once and announced once (Message-ID replaced: %s)',
    async overwriteMessageIds => {
      const { app, sandbox } = opened()
      const account = await connectGmail(opened())
      await configureGmail(sandbox, { overwriteMessageIds })
      await sandbox.addFault({ does: 'lost', host: HOST, path: UPLOAD, count: 1 })
      const entry = await send(app, account.accountId, { subject: 'Lost' })
      await waitUntil('the look-up', async () => {
        await hurryLookUp(entry)
        const { body } = await app.get<OutboxEntry>(`/v1/accounts/${account.accountId}/outbox/${entry.id}`)
        return body.status === 'sent' || null
      })
      const { messageId } = await withCopy(entry)
      await configureGmail(sandbox, { overwriteMessageIds: false })
      expect(await sentBy(account.client)).toHaveLength(1)
      expect((await account.message('Lost')).id).toBe(messageId)
      const events = (await sendEvents(app)).filter(({ data }) => data.outbox.id === entry.id)
      expect(events.map(({ type }) => type)).toEqual(['send.sent'])
    },
  )

  test.each([
    ['limits its rate', { does: 'rate_limit', retryAfterSeconds: 1 }],
    ['is down', { does: 'error', status: 503 }],
  ])('is looked up when Gmail can be asked again, if it %s at the last look-up', async (_, fault) => {
    const { app, sandbox } = opened()
    const account = await connectGmail(opened())
    await sandbox.addFault({ does: 'error', status: 503, host: HOST, path: UPLOAD, count: 1 })
    await sandbox.addFault({ ...fault, host: HOST, path: '/gmail/v1/users/me/messages' })
    const entry = await send(app, account.accountId, { subject: 'Busy' })
    const readTask = async () => {
      const { rows } = await sql<{ task_tries: number; task_at: Date; task_by: string | null }>`
        select task_tries, task_at, task_by from outbox where id = ${entry.id} and task = 'look_up'`.execute(
        app.db,
      )
      return rows[0] ?? null
    }
    await waitUntil('a look-up that has not begun', async () => {
      const { numAffectedRows } = await sql`
        update outbox set task_at = '2000-01-01', task_tries = 6
        where id = ${entry.id} and task = 'look_up' and task_by is null`.execute(app.db)
      return numAffectedRows === 1n
    })
    const putOff = await waitUntil('it to be put off', async () => {
      const task = await readTask()
      expect(await readEntry(app, entry)).toMatchObject({ status: 'sending' })
      return task && task.task_by === null && task.task_at.getFullYear() > 2000 ? task : null
    })
    expect(putOff.task_tries).toBe(6)
    await sandbox.clearFaults()
    await waitUntil('it to be tried again', async () => {
      await hurryLookUp(entry)
      return (await readEntry(app, entry)).status === 'sent' || null
    })
    expect(await sentBy(account.client)).toHaveLength(1)
  })

  test('and that Gmail does not have half an hour later is tried once more, and then given up', async () => {
    const { app, sandbox } = opened()
    const account = await connectGmail(opened())
    const torn = { does: 'error', status: 503, host: HOST, path: UPLOAD, count: 1 }
    await sandbox.addFault(torn)
    const entry = await send(app, account.accountId, { subject: 'Never' })
    const lookUntil = (awaited: string, isThere: (now: OutboxEntry) => boolean) =>
      waitUntil(awaited, async () => {
        await hurryLookUp(entry, sql`task_at = clock_timestamp(), task_tries = 6`)
        const { body } = await app.get<OutboxEntry>(`/v1/accounts/${account.accountId}/outbox/${entry.id}`)
        return isThere(body) ? body : null
      })
    await sandbox.addFault(torn)
    await lookUntil('another try', ({ attempts }) => attempts === 1)
    const { lastError } = await lookUntil('the end', ({ status }) => status === 'failed')
    expect(lastError?.reason).toBe('outcome_unknown')
    expect(await sentBy(account.client)).toEqual([])
    const events = (await sendEvents(app)).filter(({ data }) => data.outbox.id === entry.id)
    expect(events.map(({ type }) => type)).toEqual(['send.retrying', 'send.failed'])
  })
})

test('a send that was due at a restore is looked for in Gmail, and is never sent by itself', async () => {
  const { app } = opened()
  const { accountId, client } = await connectGmail(opened())
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const lacking = await send(app, accountId, { subject: 'Lacking', sendAt })
  const found = await send(app, accountId, { subject: 'Found', sendAt })
  const copy = letter('Found', `X-Waxwing-Outbox: ${found.id}\r\n`)
  await client.insert(copy.replace(/^Message-ID: .*$/m, `Message-ID: ${found.internetMessageId}`), ['SENT'])
  await app.db.transaction().execute(async tx => {
    await sql`
      update outbox set send_at = clock_timestamp(), due_at = clock_timestamp() where account_id = ${accountId}
    `.execute(tx)
    await recordRestore(tx)
  })
  await waitForStatus(app, found, 'sent')
  const failed = await waitUntil('the end', async () => {
    await hurryLookUp(lacking, sql`task_at = clock_timestamp(), task_tries = 6`)
    const entry = await readEntry(app, lacking)
    return entry.status === 'failed' && entry
  })
  expect(failed.lastError?.message).toMatch(/^The database was restored to an earlier state/)
  expect(await sentBy(client)).toHaveLength(1)
  const { body } = await app.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${lacking.id}/release`)
  expect(body).toMatchObject({ status: 'queued', lastError: null })
  await withCopy(lacking)
  const sent = (await sentBy(client)).filter(raw => raw.includes(lacking.id))
  expect(sent).toHaveLength(1)
})

test.concurrent('permanent deletion needs a permission of its own, and moving to Trash does not', async () => {
  const { app } = opened()
  const account = await connectGmail(
    opened(),
    async client => {
      for (const subject of ['kept', 'trashed']) await client.insert(letter(subject), ['INBOX'])
    },
    ['https://www.googleapis.com/auth/gmail.modify'],
  )
  const kept = await account.message('kept')
  const refused = await app.delete(`${account.path}/messages/${kept.id}?permanent=true`)
  expect(refused).toMatchObject({ status: 400, body: { code: 'scope_missing' } })
  const { threadId } = await account.message('trashed')
  expect((await app.delete(`${account.path}/threads/${threadId}`)).status).toBe(200)
  const labels = async () => (await account.client.messages()).map(({ labelIds }) => labelIds).toSorted()
  expect(await labels()).toEqual([['INBOX'], ['TRASH']])
  expect((await app.delete(`${account.path}/messages/${kept.id}`)).status).toBe(200)
  expect(await labels()).toEqual([['TRASH'], ['TRASH']])
  expect(await app.delete(`${account.path}/messages/${kept.id}?permanent=true`)).toMatchObject({
    status: 400,
    body: { code: 'scope_missing' },
  })
  expect(await account.client.messages()).toHaveLength(2)
})

test.concurrent('sends of a merge are sent one after the other, each with one copy', async () => {
  const { app } = opened()
  const account = await connectGmail(opened())
  const { body } = await app.post<{ items: Array<{ outboxId: string }> }>(`${account.path}/mail-merges`, {
    render: { subject: 'Dear {{params.name}}', text: 'Hello {{params.name}}' },
    entries: ['Ann', 'Bob', 'Cy'].map(name => ({
      to: { address: `${name.toLowerCase()}@example.com` },
      params: { name },
    })),
  })
  expect(body.items).toHaveLength(3)
  await waitUntil('all to be sent', async () => (await sentBy(account.client)).length === 3 || null)
  expect((await sentBy(account.client)).map(raw => /^Subject: (.*)\r$/m.exec(raw)![1]).toSorted()).toEqual([
    'Dear Ann',
    'Dear Bob',
    'Dear Cy',
  ])
})
