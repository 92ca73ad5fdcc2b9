import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { marked, moved, openPlayedThread, type Played } from '../../../../test/mail/played-thread.ts'
import { useTestDatabase } from '../../../../test/use-database.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

const database = useTestDatabase()
const openThread = (played: Played) => openPlayedThread(database(), played)

const rejected = new ProviderFailure('rejected', 'Full', { isBeforeAcceptance: true })
const broken = new ProviderFailure('unavailable', 'The connection broke.')

describe('a change of which the provider carries out a part', () => {
  test('is recorded up to a failure of the next', async () => {
    await using of = await openThread({ flags: [marked(1)], move: [rejected] })
    const answer = await of.caller.patch(of.message, { isRead: true, mailboxId: of.other.id })
    expect(answer).toMatchObject({ status: 400, body: { code: 'provider_rejected' } })
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: false,
    })
  })

  test('is recorded up to a message that is gone, and the sync is woken', async () => {
    await using of = await openThread({ flags: [marked(1)], move: [{ moved: [], gone: [1] }] })
    const answer = await of.caller.patch(of.message, { isRead: true, mailboxId: of.other.id })
    expect(answer).toMatchObject({ status: 404, body: { code: 'provider_not_found' } })
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: true,
    })
  })

  test('is recorded batch by batch, and the sync looks for the messages that a failure has left', async () => {
    await using of = await openThread({ flags: [marked(1), broken] })
    const answer = await of.caller.patch(of.thread, { isRead: true })
    expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: true,
    })
  })

  test('is recorded if another message of the thread is being looked for', async () => {
    await using of = await openThread({ flags: [marked(1)] })
    await sql`update message_mailbox set uid = null where message_id = ${of.ids[1]}`.execute(of.door.db)
    const answer = await of.caller.patch<{ message: string }>(of.thread, { isRead: true })
    expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(answer.body.message).toMatch(/^1 of the messages/)
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: true,
    })
  })
})

test('all that a provider carries out is recorded in its order', async () => {
  await using of = await openThread({ flags: [marked(1), marked(2)], move: [moved(1), moved(2)] })
  const { status, body } = await of.caller.patch<{ mailboxIds: string[]; unreadCount: number }>(of.thread, {
    isRead: true,
    mailboxId: of.other.id,
  })
  expect({ status, body }).toMatchObject({ status: 200, body: { mailboxIds: [of.other.id], unreadCount: 0 } })
  expect(await of.read()).toEqual({
    messages: ['first in Other, read', 'second in Other, read'],
    events: [
      'message.updated first isRead',
      'message.updated second isRead',
      'message.updated first mailboxIds',
      'message.updated second mailboxIds',
    ],
    keys: [1, 2],
    isWoken: false,
  })
})

test('a message that its provider removed for good is deleted with the answer', async () => {
  await using of = await openThread({ remove: [{ removed: [1], gone: [] }] })
  expect((await of.caller.delete(`${of.message}?permanent=true`)).status).toBe(200)
  expect(await of.read()).toEqual({
    messages: ['second in Inbox'],
    events: ['message.deleted first'],
    keys: [1],
    isWoken: false,
  })
})
