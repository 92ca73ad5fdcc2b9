/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import { ownAccount, openSession, passUntilCaughtUp, readIndex } from '../../../../test/memory-account.ts'
import { LogServer, logMail, toLoggedRemote } from '../../../../test/memory-log.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import { recordChangedKeys } from '../messages/record-changed-keys.ts'
import type { PageStep } from '../../../providers/mail.ts'
import { recordPage } from './record-page.ts'
import { ChangedMeanwhile } from './session.ts'

/** An account of which three messages are indexed, and its history as a source. */
async function openHistory() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new LogServer('labels')
  const inbox = server.create('INBOX', 'inbox')
  const deliver = (subject: string) => server.deliver([inbox.key], subject, new Date(1.7e12))
  const messages = ['one', 'two', 'three'].map(deliver)
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, { connect: () => logMail(server).mail })
  const mailboxes = await listPlacedMailboxes(db, owned.id)
  const session = {
    ...(await openSession(db, owned, logMail(server).mail)),
    mailboxes: new Map(mailboxes.map(mailbox => [mailbox.key, mailbox])),
  }
  const resources = opened.move()
  return {
    messages,
    deliver,
    record: (steps: PageStep['steps']) =>
      recordPage(session, { source: 'history', mailboxes }, { type: 'page', steps, cursor: { at: 1_000 } }),
    change: (key: string) =>
      inTransaction(db, owned.tenantId, unit =>
        recordChangedKeys(unit, owned.id, [{ source: 'history', key }]),
      ),
    subjects: async () => (await readIndex(db)).map(({ content }) => content).toSorted(),
    unread: async () => {
      const rows = await db.selectFrom('message').select(['subject', 'is_read']).execute()
      return rows.flatMap(({ subject, is_read }) => (is_read ? [] : [subject])).toSorted()
    },
    quarantined: () => db.selectFrom('quarantined_message').select(['remote_id', 'reason']).execute(),
    cursor: async () =>
      (await db.selectFrom('sync_cursor').select('cursor').executeTakeFirstOrThrow()).cursor,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const readFlags = { isRead: true, isFlagged: false, isDraft: false, categories: [] }

test('a page of which the database refuses a message brings everything else', async () => {
  await using history = await openHistory()
  const arrived = ['four', 'five', 'six'].map(subject => toLoggedRemote(history.deliver(subject)))
  const refused = { ...arrived[1]!, subject: 'a \ud800 surrogate without its other half' }
  await history.record([
    {
      type: 'arrived',
      origin: 'new',
      messages: [arrived[0]!, refused, arrived[2]!],
      unreadable: [{ key: 'unread', reason: 'a test' }],
      remaining: 0,
    },
    { type: 'gone', keys: [history.messages[0]!.id], certainty: 'proof' },
  ])
  expect(await history.subjects()).toEqual(['four', 'six', 'three', 'two'])
  expect(await history.quarantined()).toEqual(
    expect.arrayContaining([
      { remote_id: refused.key, reason: 'refused by the index: 22P02' },
      { remote_id: 'unread', reason: 'a test' },
    ]),
  )
  expect(await history.cursor()).toEqual({ at: 1_000 })
})

test('a page does not wait for a message that the interface changed if it has only its state', async () => {
  await using history = await openHistory()
  await history.change(history.messages[0]!.id)
  const changes = history.messages.map(({ id }) => ({ key: id, flags: readFlags, mailboxKeys: null }))
  await history.record([{ type: 'states', changes }])
  expect(await history.unread()).toEqual(['one'])
  expect(await history.cursor()).toEqual({ at: 1_000 })
})

test('a page in which a message is gone that the interface changed is read again', async () => {
  await using history = await openHistory()
  const [{ id }] = history.messages as [(typeof history.messages)[number]]
  await history.change(id)
  const recorded = history.record([{ type: 'gone', keys: [id], certainty: 'proof' }])
  await expect(recorded).rejects.toThrow(ChangedMeanwhile)
  expect(await history.subjects()).toEqual(['one', 'three', 'two'])
})
