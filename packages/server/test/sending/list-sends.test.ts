import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { SuppressionList } from '@waxwing/contract/sending/suppressions.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Role } from '../../src/config/settings.ts'
import { purgeDueAccounts } from '../../src/features/accounts/accounts/purge.ts'
import { purgeSending } from '../../src/features/sending/purge.ts'
import { silentLog } from '../../src/kit/log.ts'
import { QUICK_PACE, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { hurryTasks } from './killable-sending.ts'
import {
  connectSender,
  GRACE,
  openSendingApp,
  readEntry,
  send,
  type SendingApp,
  waitForStatus,
} from './open-sending.ts'

const LINKS = 'https://links.example.com'
const LINK = /^List-Unsubscribe:\s+<(https:\/\/links\.example\.com\/u\/[\w-]+)>\r\n/m

let opened: SendingApp
let accountId: string

beforeAll(async () => {
  const app = { config: { linksUrl: LINKS }, roles: ['api', 'jobs', 'sync'] as Role[], pace: QUICK_PACE }
  opened = await openSendingApp({ app })
  accountId = await connectSender(opened.app, opened, { appendSent: true })
  await waitForFirstSync(opened.app, accountId)
})
afterAll(() => opened[Symbol.asyncDispose]())

const post = (body: object) => opened.app.post(`/v1/accounts/${accountId}/outbox`, body)
const suppress = (listId: string, ...addresses: string[]) =>
  opened.app.post(`/v1/suppressions/${listId}/entries`, { addresses })
const onWire = async (id: string) => {
  const all = await opened.sink.accepted()
  return all.find(({ content }) => content.includes(`X-Waxwing-Outbox: ${id}`))
}

describe('a send that names a list', () => {
  test('has the fields of RFC 8058 on the wire, and creates the list', async () => {
    const { app } = opened
    const entry = await send(app, accountId, { listId: 'news', to: [{ address: 'wire@example.org' }] })
    expect(entry.listId).toBe('news')
    await waitForStatus(app, entry, 'sent')
    const { content } = (await onWire(entry.id))!
    expect(content).toMatch(LINK)
    expect(content).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n')
    const { body } = await app.get<{ items: SuppressionList[] }>('/v1/suppressions')
    expect(body.items).toMatchObject([{ id: 'global' }, { id: 'news', name: 'news', count: 0 }])
  })

  test('lets its recipient leave by the link, which names the send and outlives list and account', async () => {
    const { app } = opened
    const ownId = await connectSender(app, opened)
    const to = [{ address: 'Leaver@Example.org' }]
    const entry = await send(app, ownId, { listId: 'left', to })
    await waitForStatus(app, entry, 'sent')
    const url = new URL(LINK.exec((await onWire(entry.id))!.content)![1]!)
    const unsubscribe = async () => {
      const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
      return (await fetch(app.address + url.pathname, { method: 'POST', body })).status
    }
    expect(await unsubscribe()).toBe(200)
    const { body } = await app.get<{ items: object[] }>('/v1/changes?types=suppression.created')
    const data = { listId: 'left', address: 'leaver@example.org', source: 'unsubscribe', outboxId: entry.id }
    expect(body.items).toMatchObject([{ accountId: ownId, data }])
    const again = await app.post(`/v1/accounts/${ownId}/outbox`, { to, listId: 'left', text: 'x' })
    expect(again).toMatchObject({ status: 400, body: { code: 'suppressed' } })

    await app.delete('/v1/suppressions/left?withEntries=true')
    expect((await app.delete(`/v1/accounts/${ownId}`)).status).toBe(200)
    await sql`update account set purge_after = clock_timestamp() where id = ${ownId}`.execute(app.db)
    const purge = (id: string, signal: AbortSignal) => purgeSending(app.db, id, signal)
    await purgeDueAccounts({ db: app.db, steps: [purge], log: silentLog }, new AbortController().signal)
    expect(await unsubscribe()).toBe(200)
    const { body: left } = await app.get<{ items: object[] }>('/v1/suppressions/left/entries')
    expect(left.items).toMatchObject([{ address: 'leaver@example.org', source: 'unsubscribe' }])
  })

  test('may name the global list', async () => {
    const entry = await send(opened.app, accountId, { listId: 'global', to: [{ address: 'g@example.org' }] })
    await waitForStatus(opened.app, entry, 'sent')
    expect((await onWire(entry.id))!.content).toMatch(LINK)
  })

  test('has exactly one recipient, and no such fields of its own', async () => {
    const ada = { address: 'ada@example.org' }
    const refusals: Array<[object, object]> = [
      [{ to: [GRACE, ada] }, { code: 'list_send_recipients' }],
      [{ to: [GRACE], cc: [ada] }, { code: 'list_send_recipients' }],
      [{ to: [GRACE], bcc: [ada] }, { code: 'list_send_recipients' }],
      [{ cc: [ada] }, { code: 'list_send_recipients' }],
      [{ to: [GRACE], listId: 'Bad Id' }, { data: { issues: [{ path: ['listId'] }] } }],
      [
        { to: [GRACE], headers: [{ name: 'list-unsubscribe', value: '<mailto:x@example.org>' }] },
        { data: { issues: [{ path: ['headers', 0, 'name'] }] } },
      ],
    ]
    for (const [body, answer] of refusals)
      expect(await post({ text: 'x', listId: 'news', ...body })).toMatchObject({ status: 400, body: answer })
  })
})

describe('a send to a suppressed address', () => {
  test('is refused by the global list and by the one that it names', async () => {
    await suppress('global', 'gone@example.org')
    await suppress('letters', 'jö@bücher.example', 'stop@example.org')
    const refused = { status: 400, body: { code: 'suppressed' } }
    expect(await post({ to: [GRACE], bcc: [{ address: 'GONE@Example.org' }], text: 'x' })).toMatchObject({
      ...refused,
      body: { message: 'gone@example.org is suppressed.' },
    })
    const to = [{ name: 'Jö', address: 'Jö@BÜCHER.example' }]
    expect(await post({ to, listId: 'letters', text: 'x' })).toMatchObject(refused)
    expect(await post({ to: [{ address: 'stop@example.org' }], listId: 'letters', text: 'x' })).toMatchObject(
      refused,
    )
    expect((await post({ to: [{ address: 'stop@example.org' }], listId: 'other', text: 'x' })).status).toBe(
      200,
    )
    expect(
      (await post({ to: [{ address: 'stop+tag@example.org' }], listId: 'letters', text: 'x' })).status,
    ).toBe(200)
    expect((await post({ to: [{ address: 'stop@example.org' }], text: 'x' })).status).toBe(200)
  })

  test('is accepted again once the address is off the list', async () => {
    await suppress('back', 'back@example.org')
    const body = { to: [{ address: 'back@example.org' }], listId: 'back', text: 'x' }
    expect((await post(body)).status).toBe(400)
    await opened.app.delete('/v1/suppressions/back/entries/back@example.org')
    expect((await post(body)).status).toBe(200)
  })
})

describe('a draft', () => {
  const draft = async (body: object) => {
    const made = await opened.app.post<Message>(`/v1/accounts/${accountId}/drafts`, { text: 'x', ...body })
    expect(made.status).toBe(200)
    return made.body.id
  }
  const sendDraft = (id: string, body: object) =>
    opened.app.post<OutboxEntry>(`/v1/accounts/${accountId}/drafts/${id}/send`, body)

  test('is sent with a list like a send', async () => {
    const id = await draft({ to: [{ address: 'draft@example.org' }] })
    const { body } = await sendDraft(id, { listId: 'news' })
    expect(body.listId).toBe('news')
    await waitForStatus(opened.app, body, 'sent')
    expect((await onWire(body.id))!.content).toMatch(LINK)
  })

  test('is refused with a list if it has other recipients, or such fields of its own', async () => {
    const two = await draft({ to: [GRACE, { address: 'ada@example.org' }] })
    expect(await sendDraft(two, { listId: 'news' })).toMatchObject({ body: { code: 'list_send_recipients' } })
    const headers = [{ name: 'List-Unsubscribe', value: '<mailto:x@example.org>' }]
    const own = await draft({ to: [GRACE], headers })
    expect(await sendDraft(own, { listId: 'news' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['listId'] }] } },
    })
    await suppress('global', 'never@example.org')
    const never = await draft({ to: [{ address: 'never@example.org' }] })
    expect(await sendDraft(never, {})).toMatchObject({ status: 400, body: { code: 'suppressed' } })
  })
})

test('the copy in the mailbox of sent mail has no such fields', async () => {
  const { app } = opened
  const entry = await send(app, accountId, { listId: 'news', to: [{ address: 'copy@example.org' }] })
  const messageId = await waitUntil('the copy', async () => {
    await hurryTasks(app.db)
    return (await readEntry(app, entry)).messageId
  })
  expect((await onWire(entry.id))!.content).toMatch(LINK)
  const { body: copy } = await app.get<string>(`/v1/accounts/${accountId}/messages/${messageId}/raw`)
  expect(copy).toContain(`X-Waxwing-Outbox: ${entry.id}`)
  expect(copy).not.toMatch(/List-Unsubscribe/i)
})
