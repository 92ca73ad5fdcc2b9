import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { recordRestore } from '../../src/database/feed-epoch.ts'
import { hurry, hurryTasks } from '../sending/killable-sending.ts'
import { readEntry, send, sendEvents, waitForEntry, waitForStatus } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { fileOf } from './attached-file.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import { connectGraph, type GraphAccount, openGraphApp } from './open-graph-app.ts'
import { casesFor } from '../soak.ts'

const RECIPIENT = 'faults@office.test'
const POST_SEND = { method: 'POST', path: '*/send' }
/** Graph refuses to remove drafts until the faults are cleared. */
const DRAFTS_STAY = { does: 'error', status: 503, path: '*/permanentDelete' }

const opened = useServer(() => openGraphApp())
let sender: GraphAccount
let recipient: GraphClient
let sends = 0
beforeAll(async () => {
  const { sandbox } = opened()
  await sandbox.addUser(RECIPIENT, { messages: 0, provider: 'microsoft' })
  recipient = await openGraphClient(sandbox, RECIPIENT)
  sender = await connectGraph(opened())
})
afterEach(() => opened().sandbox.clearFaults())

/** Sends a message with a subject of its own. */
const sendOne = (change: object = {}) =>
  send(opened().app, sender.accountId, { to: [{ address: RECIPIENT }], subject: `No ${++sends}`, ...change })

/** Ids of the messages of a send in a folder. */
async function idsOf(client: GraphClient, folder: string, { subject }: OutboxEntry): Promise<string[]> {
  const messages = await client.all(`mailFolders/${folder}/messages?$top=100&$select=id,subject`)
  return messages.flatMap(message => (message.subject === subject ? [message.id] : []))
}
const draftsOf = (entry: OutboxEntry) => idsOf(sender.client, 'drafts', entry)

const eventsOf = async ({ id }: OutboxEntry) =>
  (await sendEvents(opened().app)).filter(({ data }) => data.outbox.id === id).map(({ type }) => type)

async function readTask({ id }: OutboxEntry) {
  const { rows } = await sql<{ task: string | null; task_tries: number }>`
    select task, task_tries from outbox where id = ${id}`.execute(opened().app.db)
  return rows[0]!
}

/** Waits until the draft of a send that ended unsent is discarded, or is given up. */
const waitForDiscard = (entry: OutboxEntry) =>
  waitUntil('the discard to end', async () => {
    await hurryTasks(opened().app.db)
    return (await readTask(entry)).task === null
  })

/** Sends a message that Graph refuses for good, and whose draft it does not remove. */
async function sendRefused(): Promise<OutboxEntry> {
  const { sandbox } = opened()
  await sandbox.addFault({ does: 'error', status: 400, ...POST_SEND, count: 1 })
  await sandbox.addFault(DRAFTS_STAY)
  const entry = await sendOne()
  await waitForStatus(opened().app, entry, 'failed')
  expect(await draftsOf(entry)).toHaveLength(1)
  return entry
}

describe('the draft of a send by Graph', () => {
  test('that was refused is discarded, however often that fails first', async () => {
    const entry = await sendRefused()
    await waitUntil('two tries', async () => {
      await hurryTasks(opened().app.db)
      return (await readTask(entry)).task_tries >= 2
    })
    expect(await draftsOf(entry)).toHaveLength(1)
    await opened().sandbox.clearFaults()
    await waitForDiscard(entry)
    expect(await draftsOf(entry)).toEqual([])
    expect(await readEntry(opened().app, entry)).toMatchObject({ status: 'failed' })
    expect(await eventsOf(entry)).toEqual(['send.failed'])
  })

  test('that was cancelled between two attempts is discarded', async () => {
    const { app, sandbox } = opened()
    await sandbox.addFault({ does: 'error', status: 409, ...POST_SEND, count: 1 })
    await sandbox.addFault(DRAFTS_STAY)
    const entry = await sendOne()
    await waitForEntry(app, entry, 'another attempt to be due', ({ attempts }) => attempts === 1)
    expect(await draftsOf(entry)).toHaveLength(1)
    const { status } = await app.delete(`/v1/accounts/${sender.accountId}/outbox/${entry.id}`)
    expect(status).toBe(200)
    await sandbox.clearFaults()
    await waitForDiscard(entry)
    expect(await draftsOf(entry)).toEqual([])
    expect(await readEntry(app, entry)).toMatchObject({ status: 'cancelled' })
    await hurry(app.db)
  })

  test('that a person has sent meanwhile is not discarded', async () => {
    const entry = await sendRefused()
    const drafts = await draftsOf(entry)
    await sender.client.ask('POST', `messages/${drafts[0]}/send`)
    await opened().sandbox.clearFaults()
    await waitForDiscard(entry)
    expect(await idsOf(sender.client, 'sentitems', entry)).toEqual(drafts)
  })

  test.each(casesFor(['active', 'reauth_required'] as const, status => status === 'active'))(
    'stays if it cannot be discarded for two days, since the account is %s and Graph refuses',
    async status => {
      const { db } = opened().app
      const entry = await sendRefused()
      const setStatus = (to: typeof status) =>
        sql`update account set status = ${to} where id = ${sender.accountId}`.execute(db)
      await setStatus(status)
      await waitUntil('the last try', async () => {
        const { numAffectedRows } = await sql`
          update outbox set task_tries = 54, task_at = clock_timestamp()
          where id = ${entry.id} and task_by is null`.execute(db)
        return numAffectedRows === 1n
      })
      await waitUntil('the discard to be given up', async () => (await readTask(entry)).task === null)
      await setStatus('active')
      expect(await draftsOf(entry)).toHaveLength(1)
    },
  )

  test('that was prepared before a restore is removed when its send is released', async () => {
    const { app } = opened()
    const entry = await sendOne({ sendAt: new Date(Date.now() + 3_600_000).toISOString() })
    // The database has forgotten the attempt that made it.
    const { internetMessageId, subject } = entry
    await sender.client.ask('POST', 'messages', { subject, internetMessageId })
    await app.db.transaction().execute(async tx => {
      await sql`
        update outbox set send_at = clock_timestamp(), due_at = clock_timestamp() where id = ${entry.id}
      `.execute(tx)
      await recordRestore(tx)
    })
    await waitUntil('it to be given up', async () => {
      await sql`
        update outbox set task_at = clock_timestamp(), task_tries = 6 where id = ${entry.id} and task = 'look_up'
      `.execute(app.db)
      return (await readEntry(app, entry)).status === 'failed'
    })
    expect(await readTask(entry)).toMatchObject({ task: null })
    expect(await draftsOf(entry)).toHaveLength(1)
    const released = await app.post(`/v1/accounts/${sender.accountId}/outbox/${entry.id}/release`)
    expect(released.status).toBe(200)
    await waitForStatus(app, entry, 'sent')
    expect(await draftsOf(entry)).toEqual([])
    expect(await idsOf(recipient, 'inbox', entry)).toHaveLength(1)
  })
})

/** In place of waiting: the outcome of a hand-over is proven only minutes after it. */
async function hurryLookUp({ id }: OutboxEntry): Promise<void> {
  await sql`
    update outbox set handed_over_at = clock_timestamp() - interval '10 minutes' where id = ${id} and task = 'look_up'
  `.execute(opened().app.db)
}

/** One file is attached by a request, and the other in a session. */
const IN_PARTS = { attachments: [fileOf('a.pdf', 2_000_000), fileOf('b.pdf', 3_100_000)] }
const RANGE = { method: 'PUT', path: '*AttachmentSessions*' }

describe('a send by Graph arrives once', () => {
  const faults: Array<[name: string, fault: Record<string, unknown>, change?: object]> = [
    ['the draft is refused', { does: 'error', status: 503, method: 'POST', path: '*/messages' }],
    ['the answer to the draft is lost', { does: 'lost', method: 'POST', path: '*/messages' }],
    ['a file is refused', { does: 'error', status: 503, path: '*/attachments' }, IN_PARTS],
    ['the answer to a file is lost', { does: 'lost', path: '*/attachments' }, IN_PARTS],
    ['a session is refused', { does: 'error', status: 404, path: '*/createUploadSession' }, IN_PARTS],
    ['a range is refused', { does: 'error', status: 503, ...RANGE }, IN_PARTS],
    ['the hand-over is throttled', { does: 'rate_limit', retryAfterSeconds: 1, ...POST_SEND }],
    ['the hand-over is refused for now', { does: 'error', status: 409, ...POST_SEND }],
    ['the server fails at the hand-over', { does: 'error', status: 509, ...POST_SEND }],
    ['the answer to the hand-over is lost', { does: 'lost', ...POST_SEND }],
    ['the answer to the hand-over of files is lost', { does: 'lost', ...POST_SEND }, IN_PARTS],
  ]
  test.each(casesFor(faults, (_, at) => at % 3 === 1))('if %s', async (_, fault, change) => {
    const { app, sandbox } = opened()
    await sandbox.addFault({ ...fault, count: 1 })
    const entry = await sendOne(change)
    await waitUntil('the copy', async () => {
      await hurryLookUp(entry)
      await hurry(app.db)
      const { status, messageId } = await readEntry(app, entry)
      expect(status).not.toBe('failed')
      return status === 'sent' && messageId !== null
    })
    expect(await idsOf(recipient, 'inbox', entry)).toHaveLength(1)
    expect(await idsOf(sender.client, 'sentitems', entry)).toHaveLength(1)
    expect(await draftsOf(entry)).toEqual([])
    const indexed = (await sender.messages()).filter(({ subject }) => subject === entry.subject)
    expect(indexed.map(({ outboxId }) => outboxId)).toEqual([entry.id])
    // The work is also repeated over another connection, within one attempt.
    const events = (await eventsOf(entry)).filter(type => type !== 'send.retrying')
    expect(events).toEqual(['send.sent'])
  })
})
