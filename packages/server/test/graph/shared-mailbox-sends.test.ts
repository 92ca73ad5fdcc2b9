import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readFeed, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { addOfficeUser, addShared, connectUser, SANDBOX_APPS, deleteAccounts } from './delegates.ts'
import { openGraphClient } from './graph-client.ts'
import { type GraphApp, openGraphApp } from './open-graph-app.ts'

const GRAPH = 'graph.microsoft.com'
/** Beyond what can be attached at once. */
const LARGE = 4 * 1024 * 1024

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp({ config: SANDBOX_APPS })
})
afterAll(() => opened[Symbol.asyncDispose]())
afterEach(async () => {
  await configure({ copyIn: 'own', sharedUploads: 'work' })
  await deleteAccounts(opened.app)
})

const configure = (settings: object) => opened.sandbox.control('PATCH', '/graph', settings)

/** A delegate and a shared mailbox, and a mailbox that is written to. */
async function openDesk() {
  const { app, sandbox } = opened
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', delegates: [eva] })
  const finn = await addOfficeUser(sandbox, { name: 'finn' })
  const delegate = await connectUser(app, sandbox, eva)
  const account = await addShared(app, delegate.id, desk)
  for (const { id } of [delegate, account]) await waitForFirstSync(app, id)
  const { cursor } = await readFeed(app)
  const arrivals = await openGraphClient(sandbox, finn)
  const own = await openGraphClient(sandbox, desk)
  return {
    delegate,
    account,
    desk,
    finn,
    /** The messages that the other has, by their subjects. */
    arrived: async () => (await arrivals.all('messages?$select=subject')).map(({ subject }) => subject),
    drafts: () => own.all('mailFolders/drafts/messages?$select=subject'),
    created: async () =>
      (await readFeed(app, cursor)).events
        .filter(({ type }) => type === 'message.created')
        .map(({ accountId, data }) => `${accountId}: ${data.message?.subject}`),
  }
}

async function post(accountId: string, body: object): Promise<OutboxEntry> {
  const answer = await opened.app.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox`, {
    subject: 'Figures',
    text: 'Here.',
    undoSendSeconds: 0,
    ...body,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

const read = async ({ accountId, id }: OutboxEntry) =>
  (await opened.app.get<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${id}`)).body

const ended = (entry: OutboxEntry) =>
  waitUntil('the end of the send', async () => {
    const now = await read(entry)
    return ['sent', 'failed'].includes(now.status) ? now : null
  })

const file = (byteLength: number) => ({
  filename: 'large.bin',
  contentType: 'application/octet-stream',
  content: Buffer.alloc(byteLength, 7).toString('base64'),
})

describe('a send of a shared mailbox', () => {
  test('has no message where Exchange files the copy in the mailbox of the delegate', async () => {
    const { delegate, account, desk, finn, arrived, drafts, created } = await openDesk()
    await configure({ copyIn: 'delegate' })
    const sent = await ended(await post(account.id, { to: [{ address: finn }] }))
    expect(sent).toMatchObject({ status: 'sent', attempts: 1 })
    const copy = await waitUntil('the copy of the delegate', async () => {
      const [message] = await readMessages(opened.app, delegate.id)
      return message ?? null
    })
    expect(copy).toMatchObject({ internetMessageId: sent.internetMessageId, from: { address: desk } })
    expect((await read(sent)).messageId).toBeNull()
    expect(await readMessages(opened.app, account.id)).toEqual([])
    expect(await created()).toEqual([`${delegate.id}: Figures`])
    expect(await arrived()).toEqual(['Figures'])
    expect(await drafts()).toEqual([])
  })

  test('whose answer was lost is found by its copy in the mailbox of the delegate', async () => {
    const { account, desk, finn, arrived } = await openDesk()
    await configure({ copyIn: 'delegate' })
    const path = `/v1.0/users/${encodeURIComponent(desk)}/messages/*/send`
    await opened.sandbox.addFault({ host: GRAPH, method: 'POST', path, does: 'lost', count: 1 })
    const entry = await post(account.id, { to: [{ address: finn }] })
    await waitUntil('the message to arrive', async () => (await arrived()).length > 0 || null)
    await waitUntil('the look-up to wait', async () => {
      const { numAffectedRows = 0n } = await sql`
        update outbox set task_at = clock_timestamp() where id = ${entry.id} and task = 'look_up'
      `.execute(opened.app.db)
      return numAffectedRows > 0n || null
    })
    expect(await ended(entry)).toMatchObject({ status: 'sent', attempts: 1, messageId: null })
    expect(await arrived()).toEqual(['Figures'])
    await opened.sandbox.clearFaults()
  })

  test('uploads a large file, and reports one as too large that Exchange takes no upload of', async () => {
    const { account, finn, arrived, drafts } = await openDesk()
    const body = { to: [{ address: finn }], attachments: [file(LARGE)] }
    expect(await ended(await post(account.id, body))).toMatchObject({ status: 'sent' })
    await configure({ sharedUploads: 'fail' })
    const failed = await ended(await post(account.id, { ...body, subject: 'Too large' }))
    expect(failed).toMatchObject({ status: 'failed', lastError: { reason: 'attachments_too_large' } })
    expect(await arrived()).toEqual(['Figures'])
    expect(await drafts()).toEqual([])
    const small = { ...body, subject: 'Small', attachments: [file(1_000)] }
    expect(await ended(await post(account.id, small))).toMatchObject({ status: 'sent' })
  })

  test('fails alone once the delegate may no longer open the mailbox', async () => {
    const { delegate, account, desk, finn, arrived } = await openDesk()
    await opened.sandbox.changeUser(desk, { delegates: [] })
    const lost = await post(account.id, { to: [{ address: finn }], subject: 'Lost' })
    const kept = await post(delegate.id, { to: [{ address: finn }], subject: 'Kept' })
    expect(await ended(kept)).toMatchObject({ status: 'sent' })
    expect(
      await waitUntil('an attempt', async () => {
        const entry = await read(lost)
        return entry.lastError === null ? null : entry
      }),
    ).toMatchObject({ lastError: { reason: 'account_disabled' } })
    expect(await arrived()).toEqual(['Kept'])
  })
})
