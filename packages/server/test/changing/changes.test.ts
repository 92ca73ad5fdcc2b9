import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { Thread } from '@waxwing/contract/mail/threads.ts'
import type { TestApp } from '../open-app.ts'
import type { MailServer } from '../servers/mail-server.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { type ChangingAccount, openChangingAccount } from './changing-account.ts'
import { casesFor } from '../soak.ts'

let app: TestApp
beforeAll(async () => {
  app = await openSyncApp({ config: { connectionsPerHost: 100 } })
})
afterAll(() => app[Symbol.asyncDispose]())

function letter(subject: string, inReplyTo?: string) {
  const head = [
    'From: Ada <ada@a.test>',
    `Subject: ${subject}`,
    `Message-ID: <${subject.replaceAll(' ', '-')}@a.test>`,
    ...(inReplyTo ? [`In-Reply-To: <${inReplyTo}@a.test>`] : []),
  ]
  return {
    raw: `${head.join('\r\n')}\r\n\r\nText of ${subject}\r\n`,
    internalDate: new Date(Date.UTC(2026, 0, 1)),
  }
}

const withoutPasses = (events: string[]) => events.filter(event => !event.includes(' pass '))

/**
 * Without the passes of the test. Where a server without MOVE has a message twice for a moment, the sync may announce the
 * copy and take it back: without those as well.
 */
function withoutCopies(events: string[], { kind }: MailServer): string[] {
  const left = withoutPasses(events)
  if (kind !== 'dovecot-poor') return left
  for (const created of events.filter(event => event.startsWith('message.created '))) {
    const at = left.indexOf(created)
    const deletedAt = left.indexOf(created.replace('created', 'deleted'), at)
    if (deletedAt < 0) continue
    left.splice(deletedAt, 1)
    left.splice(at, 1)
  }
  return left
}

/** For the tests of a server, beside those of the others. */
const ONE_BY_ONE = { concurrent: false }

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'Cyrus')

describe.each(SERVERS)('changes of mail on $name', { concurrent: true }, ({ start }) => {
  const useIt = useServer(start)
  const open = (arrange: (world: ChangingAccount['world']) => Promise<unknown>) =>
    openChangingAccount(app, useIt(), arrange)

  test('marks a message, leaves its other flags alone, and announces it once', ONE_BY_ONE, async () => {
    await using account = await open(async world => {
      const [uid = 0] = await world.deliver([letter('one'), letter('two')])
      await world.flag('INBOX', [uid], '\\Answered', 'work')
    })
    const { id } = await account.message('one')

    const { status, body } = await app.patch<MessageSummary>(`${account.path}/messages/${id}`, {
      isRead: true,
      isFlagged: true,
    })

    expect(status).toBe(200)
    expect(body).toMatchObject({ id, isRead: true, isFlagged: true, categories: ['work'] })
    expect(await account.truth()).toEqual(['INBOX: one \\Answered \\Flagged \\Seen work', 'INBOX: two'])
    await app.patch(`${account.path}/messages/${id}`, { isFlagged: false })
    expect(await account.message('one')).toMatchObject({ isRead: true, isFlagged: false })
    expect(withoutPasses(await account.settledFeed())).toEqual([
      'message.updated one isRead isFlagged',
      'message.updated one isFlagged',
    ])
  })

  test('moves a message, which keeps its id, and expunges nothing of other clients', ONE_BY_ONE, async () => {
    await using account = await open(async world => {
      await world.createMailbox(world.at('Projects'))
      const [, uid = 0] = await world.deliver([letter('moved'), letter('marked')])
      await world.flag('INBOX', [uid], '\\Deleted')
    })
    const { id } = await account.message('moved')
    const target = await account.mailbox('Projects')

    const { status, body } = await app.patch<MessageSummary>(`${account.path}/messages/${id}`, {
      mailboxId: target.id,
      isRead: true,
    })

    expect({ status, body }).toMatchObject({
      status: 200,
      body: { id, mailboxIds: [target.id], isRead: true },
    })
    expect(await account.truth()).toEqual([
      'INBOX: marked \\Deleted',
      `${account.world.at('Projects')}: moved \\Seen`,
    ])
    expect(withoutCopies(await account.settledFeed(), account.server)).toEqual([
      'message.updated moved isRead',
      'message.updated moved mailboxIds',
    ])
    expect(await account.message('moved')).toMatchObject({ id, mailboxIds: [target.id] })
    // It can be read, and moved back, under the same id.
    expect(await app.get(`${account.path}/messages/${id}`)).toMatchObject({
      status: 200,
      body: { body: { text: expect.stringContaining('Text of moved') } },
    })
    const inbox = await account.mailbox('INBOX')
    await app.patch(`${account.path}/messages/${id}`, { mailboxId: inbox.id })
    expect(await account.message('moved')).toMatchObject({ id, mailboxIds: [inbox.id] })
  })

  test('deletes to Trash, which is created if it is missing, and for good', ONE_BY_ONE, async () => {
    await using account = await open(world => world.deliver([letter('one'), letter('two'), letter('three')]))
    const remove = (id: string, query = '') => app.delete(`${account.path}/messages/${id}${query}`)
    const [one, two] = [await account.message('one'), await account.message('two')]

    expect(await remove(one.id)).toMatchObject({ status: 200, body: null })
    const moved = await account.message('one')
    expect(moved.id).toBe(one.id)
    expect(moved.mailboxIds).not.toEqual(one.mailboxIds)
    expect(await remove(one.id)).toMatchObject({ status: 200, body: null })
    expect((await account.message('one')).mailboxIds).toEqual(moved.mailboxIds)
    expect(await remove(two.id, '?permanent=true')).toMatchObject({ status: 200, body: null })
    expect(await remove(two.id)).toMatchObject({ status: 404, body: { code: 'message_not_found' } })

    expect((await account.truth()).map(line => line.slice(line.indexOf(':') + 2)).toSorted()).toEqual(
      ['one', 'three'].toSorted(),
    )
    const events = withoutCopies(await account.settledFeed(), account.server)
    expect(events.filter(event => event.startsWith('message.'))).toEqual([
      'message.updated one mailboxIds',
      'message.deleted two',
    ])
  })

  test('creates, renames, moves and deletes mailboxes with those below them', ONE_BY_ONE, async () => {
    await using account = await open(async world => {
      await world.createMailbox(world.at('Old'))
      await world.createMailbox(world.at('Old/Below'))
      await world.deliver(letter('kept'), world.at('Old/Below'))
    })
    const mailboxes = `${account.path}/mailboxes`
    const { id } = await account.message('kept')

    const created = await app.post<Mailbox>(mailboxes, { name: 'Büro & Co' })
    expect(created).toMatchObject({ status: 200, body: { name: 'Büro & Co', role: 'custom' } })
    const old = await account.mailbox('Old')
    const renamed = await app.patch<Mailbox>(`${mailboxes}/${old.id}`, {
      name: 'New',
      parentId: created.body.id,
    })
    expect(renamed).toMatchObject({
      status: 200,
      body: { id: old.id, name: 'New', parentId: created.body.id },
    })
    expect((await account.mailbox('Büro & Co/New/Below')).parentId).toBe(old.id)
    expect((await account.message('kept')).id).toBe(id)
    expect(await account.truth()).toEqual([`${account.world.at('Büro & Co/New/Below')}: kept`])

    expect(await app.delete(`${mailboxes}/${old.id}`)).toMatchObject({
      status: 400,
      body: { code: 'provider_rejected' },
    })
    const below = await account.mailbox('Büro & Co/New/Below')
    expect(await app.delete(`${mailboxes}/${below.id}`)).toMatchObject({ status: 200, body: null })
    expect(await app.delete(`${mailboxes}/${below.id}`)).toMatchObject({
      status: 422,
      body: { code: 'unknown_mailbox', data: { ids: [below.id] } },
    })
    const at = (name: string) => account.world.at(name)
    expect(withoutPasses(await account.settledFeed())).toEqual([
      `mailbox.created ${at('Büro & Co')}`,
      `mailbox.updated ${at('Büro & Co/New')} name path parentId`,
      `mailbox.updated ${at('Büro & Co/New/Below')} path`,
      `mailbox.deleted ${at('Büro & Co/New/Below')}`,
      'message.deleted kept',
    ])
  })

  test('changes all messages of a thread, and does nothing when it is asked again', ONE_BY_ONE, async () => {
    await using account = await open(async world => {
      await world.createMailbox(world.at('Done'))
      await world.deliver([letter('first'), letter('other')])
      await world.deliver([letter('Re: first', 'first')], world.at('Done'))
    })
    const { threadId } = await account.message('first')
    const done = await account.mailbox('Done')
    const thread = `${account.path}/threads/${threadId}`

    for (let times = 0; times < 2; times++) {
      const { status, body } = await app.patch<Thread>(thread, { isRead: true, mailboxId: done.id })
      expect(status).toBe(200)
      expect(body).toMatchObject({ messageCount: 2, unreadCount: 0, mailboxIds: [done.id] })
    }
    expect(await account.truth()).toEqual(
      expect.arrayContaining(['INBOX: other', `${account.world.at('Done')}: first \\Seen`]),
    )
    // If the server does not report where it moved a message, the next sync finds it.
    await waitUntil('the messages to be found again', async () => (await app.delete(thread)).status === 200)
    expect(await app.delete(thread)).toMatchObject({ status: 200, body: null })
    const events = withoutCopies(await account.settledFeed(), account.server)
    expect(events.filter(event => event.startsWith('message.')).toSorted()).toEqual(
      [
        'message.updated first isRead',
        'message.updated Re: first isRead',
        'message.updated first mailboxIds',
        'message.updated first mailboxIds',
        'message.updated Re: first mailboxIds',
      ].toSorted(),
    )
  })
})

describe('changes that are refused', () => {
  const useIt = useServer(SERVER_KINDS[0].start)

  test('answers each with its reason, and changes nothing', async () => {
    await using account = await openChangingAccount(app, useIt(), world => world.deliver(letter('one')))
    const { id } = await account.message('one')
    const inbox = await account.mailbox('INBOX')
    const none = '0198b7a2-0000-7000-8000-000000000000'
    const message = `${account.path}/messages/${id}`
    const mailboxes = `${account.path}/mailboxes`
    const before = await account.truth()

    const cases: Array<
      [method: 'post' | 'patch' | 'delete', path: string, body: unknown, expected: unknown]
    > = [
      ['patch', message, { mailboxId: none }, { code: 'unknown_mailbox', data: { ids: [none] } }],
      ['patch', message, { addMailboxIds: [inbox.id] }, { code: 'mailbox_not_label' }],
      ['patch', message, { isRead: 'yes' }, { data: { issues: [{ path: ['isRead'] }] } }],
      [
        'patch',
        message,
        { addMailboxIds: [inbox.id], removeMailboxIds: [inbox.id] },
        { data: { issues: [{ path: ['removeMailboxIds', 0] }] } },
      ],
      ['patch', `${account.path}/messages/${none}`, {}, { code: 'message_not_found' }],
      ['patch', `${account.path}/messages/x`, {}, { code: 'message_not_found' }],
      ['delete', `${account.path}/messages/${none}`, undefined, { code: 'message_not_found' }],
      ['patch', `${account.path}/threads/none`, { isRead: true }, { code: 'thread_not_found' }],
      ['delete', `${account.path}/threads/none`, undefined, { code: 'thread_not_found' }],
      ['post', mailboxes, { name: 'INBOX' }, { code: 'provider_conflict' }],
      ['post', mailboxes, { name: 'a/b' }, { data: { issues: [{ path: ['name'] }] } }],
      ['post', mailboxes, { name: 'a\r\nb' }, { data: { issues: [{ path: ['name'] }] } }],
      ['post', mailboxes, { name: '' }, { data: { issues: [{ path: ['name'] }] } }],
      ['post', mailboxes, { name: 'x', parentId: none }, { code: 'unknown_mailbox' }],
      ['patch', `${mailboxes}/${inbox.id}`, { name: 'x' }, { code: 'mailbox_protected' }],
      ['delete', `${mailboxes}/${inbox.id}`, undefined, { code: 'mailbox_protected' }],
      ['delete', `${mailboxes}/x`, undefined, { code: 'unknown_mailbox', data: { ids: [] } }],
    ]
    for (const [method, path, body, expected] of cases) {
      const answer = await app[method](path, body)
      expect(answer.body, `${method} ${path} ${JSON.stringify(body)}`).toMatchObject(expected as object)
    }
    const made = await app.post<Mailbox>(mailboxes, { name: 'Loop' })
    expect((await app.patch(`${mailboxes}/${made.body.id}`, { parentId: made.body.id })).body).toMatchObject({
      code: 'mailbox_parent',
    })
    expect((await app.patch(message, {})).body).toMatchObject({ id, isRead: false })
    await app.patch(account.path, { status: 'paused' })
    expect((await app.patch(message, { isRead: true })).body).toMatchObject({ code: 'account_paused' })
    // Faults of the request are reported before those of the account.
    expect((await app.patch(message, { mailboxId: none })).body).toMatchObject({ code: 'unknown_mailbox' })
    expect((await app.post(mailboxes, { name: 'a/b' })).body).toMatchObject({ code: 'invalid_input' })
    const thread = `${account.path}/threads/${(await account.message('one')).threadId}`
    expect((await app.patch(thread, { mailboxId: none })).body).toMatchObject({ code: 'unknown_mailbox' })
    await app.patch(account.path, { status: 'active' })
    expect(await account.truth()).toEqual(before)
    expect(withoutPasses(await account.settledFeed()).filter(event => !event.startsWith('account.'))).toEqual(
      ['mailbox.created Loop'],
    )
  })
})
