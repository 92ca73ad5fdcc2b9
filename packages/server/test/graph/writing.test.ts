import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Db } from '../../src/database/pool.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, type GraphApp, openGraphApp } from './open-graph-app.ts'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

const LOCK = 26_080

/** Does the work while every send waits that is about to be handed over: its draft is made, and not sent. */
async function whileHandOversWait<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await sql`create function pause() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(${sql.lit(LOCK)}); return new; end $$`.execute(db)
  await sql`create trigger pause before update on outbox for each row
    when (old.phase is distinct from new.phase and new.phase = 'handed_over') execute function pause()`.execute(
    db,
  )
  try {
    return await db.connection().execute(async session => {
      await sql`select pg_advisory_lock(${LOCK})`.execute(session)
      try {
        return await work()
      } finally {
        await sql`select pg_advisory_unlock(${LOCK})`.execute(session)
      }
    })
  } finally {
    await sql`drop function pause cascade`.execute(db)
  }
}

/** Has another client make a draft, and waits until it is shown: every draft from before was then seen, too. */
async function seeDraft({ client, messages }: GraphAccount, subject: string): Promise<void> {
  await client.ask('POST', 'messages', { subject })
  await waitUntil(`the draft "${subject}"`, async () =>
    (await messages()).some(message => message.subject === subject),
  )
}

const draftsOf = async ({ client }: GraphAccount): Promise<string[]> =>
  (await client.all('mailFolders/drafts/messages?$select=subject')).map(({ subject }) => subject).toSorted()

describe('an account of Microsoft Graph', () => {
  test('sends, shows the copy once, and never the draft of the send', async () => {
    const eva = await connectGraph(opened)
    const finn = await connectGraph(opened)
    const { app } = opened
    const body = await whileHandOversWait(app.db, async () => {
      const accepted = await app.post<OutboxEntry>(`/v1/accounts/${eva.accountId}/outbox`, {
        to: [{ address: finn.email }],
        subject: 'Figures',
        text: 'Here they are.',
        undoSendSeconds: 0,
        attachments: [
          {
            filename: 'a.pdf',
            contentType: 'application/pdf',
            content: Buffer.alloc(2_500_000, 'a').toString('base64'),
          },
        ],
      })
      expect(accepted.status).toBe(200)
      await waitUntil('the draft of the send', async () => (await draftsOf(eva)).includes('Figures'))
      await seeDraft(eva, 'Of another client')
      expect((await eva.messages()).map(({ subject }) => subject)).toEqual(['Of another client'])
      return accepted.body
    })
    const entry = await waitUntil('the copy is linked', async () => {
      const read = await app.get<OutboxEntry>(`/v1/accounts/${eva.accountId}/outbox/${body.id}`)
      return read.body.messageId === null ? null : read.body
    })
    expect(entry).toMatchObject({ status: 'sent', attempts: 1 })
    const arrived = await waitUntil('the arrival', async () => {
      const [message] = await finn.messages()
      return message ?? null
    })
    expect(arrived).toMatchObject({
      subject: 'Figures',
      hasAttachments: true,
      internetMessageId: entry.internetMessageId,
    })
    const copies = (await eva.messages()).filter(({ subject }) => subject === 'Figures')
    expect(copies.map(({ id, isDraft, outboxId }) => [id, isDraft, outboxId])).toEqual([
      [entry.messageId, false, body.id],
    ])
    const created = (await eva.feed()).filter(({ type }) => type === 'message.created')
    expect(created.map(({ data }) => data.message?.subject)).toEqual(['Of another client', 'Figures'])
  })

  test('keeps the id of a draft that is replaced, and sends it', async () => {
    const eva = await connectGraph(opened)
    const finn = await connectGraph(opened)
    const { app } = opened
    const path = `/v1/accounts/${eva.accountId}/drafts`
    const first = await app.post<Message>(path, {
      to: [{ address: finn.email }],
      subject: 'One',
      text: 'One',
    })
    expect(first.status).toBe(200)
    const { id } = first.body
    for (const subject of ['Two', 'Three']) {
      const put = await app.put<Message>(`${path}/${id}`, {
        to: [{ address: finn.email }],
        subject,
        text: subject,
      })
      expect(put).toMatchObject({ status: 200, body: { id, subject } })
      await seeDraft(eva, `After ${subject}`)
    }
    const others: Array<string | null> = ['After Three', 'After Two']
    expect(await draftsOf(eva)).toEqual([...others, 'Three'])
    const typesOf = async () =>
      (await eva.feed()).filter(({ data }) => data.message?.id === id).map(({ type }) => type)
    const beforeSend = ['message.created', 'message.updated', 'message.updated']
    expect(await typesOf()).toEqual(beforeSend)
    expect((await eva.feed()).map(({ type }) => type)).not.toContain('message.deleted')
    const sent = await app.post<OutboxEntry>(`${path}/${id}/send`, { undoSendSeconds: 0 })
    expect(sent.status).toBe(200)
    await waitUntil('the draft became the copy', async () => {
      const messages = (await eva.messages()).filter(({ subject }) => !others.includes(subject))
      return messages.length === 1 && messages[0]!.outboxId === sent.body.id ? true : null
    })
    expect(await typesOf()).toEqual([...beforeSend, 'message.deleted'])
    expect((await eva.feed()).filter(({ type }) => type === 'message.deleted')).toHaveLength(1)
    expect(await draftsOf(eva)).toEqual(others)
    await waitUntil('the arrival', async () => ((await finn.messages()).length === 1 ? true : null))
  })
})
