/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { ownAccount, pass, passUntilCaughtUp, readIndex } from '../../../../test/memory-account.ts'
import { LogServer, logMail } from '../../../../test/memory-log.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { recordChangedKeys } from '../messages/record-changed-keys.ts'
import type { DraftContent, MailProvider } from '../../../providers/mail.ts'

/** An account with three indexed messages, whose provider does not answer about the first. */
async function openAccount() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new LogServer('labels')
  const inbox = server.create('INBOX', 'inbox')
  const messages = ['one', 'two', 'three'].map(subject =>
    server.deliver([inbox.key], subject, new Date(1.7e12)),
  )
  const owned = await ownAccount(db)
  const connect = () => logMail(server).mail
  await passUntilCaughtUp(db, owned, { connect })
  const silent = messages[0]!.id
  const connectSilent = (): MailProvider => {
    const mail = connect()
    return {
      ...mail,
      async locate(at, keys) {
        const { found, gone } = await mail.locate(at, keys)
        found.delete(silent)
        const unreadable = keys.filter(key => key === silent).map(key => ({ key, reason: 'a test' }))
        return { found, gone: gone.filter(key => key !== silent), unreadable }
      },
    }
  }
  const resources = opened.move()
  return {
    db,
    server,
    messages,
    silent,
    change: (keys: readonly string[]) =>
      inTransaction(db, owned.tenantId, unit =>
        recordChangedKeys(
          unit,
          owned.id,
          keys.map(key => ({ source: 'history', key })),
        ),
      ),
    pass: () => pass(db, owned, { connect }),
    /** A pass over a provider that has these drafts. */
    passWithDrafts: (drafts: readonly DraftContent[], change: Partial<MailProvider> = {}) => {
      const mail = connect()
      const draftKeys = new Map(drafts.map(({ key, draftKey }) => [key, draftKey]))
      const withDrafts: MailProvider = {
        ...mail,
        locate: async (at, keys) => ({ ...(await mail.locate(at, keys)), drafts }),
        async *arrivals(source, options) {
          for await (const step of mail.arrivals(source, options)) {
            if (step.type === 'arrived')
              for (const message of step.messages) message.draftKey = draftKeys.get(message.key) ?? null
            yield step
          }
        },
        ...change,
      }
      return pass(db, owned, { connect: () => withDrafts })
    },
    passSilent: () => pass(db, owned, { connect: connectSilent }),
    subjects: async () => (await readIndex(db)).map(({ content }) => content).toSorted(),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

type Account = Awaited<ReturnType<typeof openAccount>>

test('a changed message about which the provider does not answer is fetched later, and the others are looked at', async () => {
  await using account = await openAccount()
  const { db, server, messages, silent } = account
  await account.change(messages.map(({ id }) => id))
  messages[1]!.isRead = true
  server.messages.delete(messages[2]!.id)

  await account.passSilent()

  expect(await db.selectFrom('changed_key').selectAll().execute()).toEqual([])
  const quarantined = await db.selectFrom('quarantined_message').select(['remote_id', 'reason']).execute()
  expect(quarantined).toEqual([{ remote_id: silent, reason: 'a test' }])
  const rows = await db.selectFrom('message').select(['subject', 'is_read']).orderBy('subject').execute()
  expect(rows).toEqual([
    { subject: 'one', is_read: false },
    { subject: 'two', is_read: true },
  ])
})

test('a missing message about which the provider does not answer stays until it answers', async () => {
  await using account = await openAccount()
  const { db, server, messages } = account
  await sql`update message set missing_look = 0`.execute(db)
  server.messages.delete(messages[0]!.id)
  server.messages.delete(messages[1]!.id)

  await account.passSilent()
  expect(await account.subjects()).toEqual(['one', 'three'])

  await account.pass()
  expect(await account.subjects()).toEqual(['three'])
})

test.each([
  ['is marked as changed', (account: Account) => account.change([account.silent])],
  [
    'is missing',
    ({ db }: Account) => sql`update message set missing_look = 0 where subject = 'one'`.execute(db),
  ],
])('a draft that is gone and %s leaves the index, before everything was read', async (_, doubt) => {
  await using account = await openAccount()
  const { db, server, silent } = account
  await sql`update message set draft_key = 'draft ' || subject, is_draft = true`.execute(db)
  server.messages.delete(silent)
  await doubt(account)

  await account.passWithDrafts([], { isComplete: () => false })

  expect(await account.subjects()).toEqual(['three', 'two'])
})

test('a draft whose content another client replaced unheard keeps its id', async () => {
  await using account = await openAccount()
  const { db, server, messages, silent } = account
  await sql`update message set draft_key = 'draft ' || subject, is_draft = true`.execute(db)
  const before = (await readIndex(db)).find(({ content }) => content === 'one')!
  server.messages.delete(silent)
  server.messages.set('another', { ...messages[0]!, id: 'another', content: 'one again' })
  await account.change([silent])

  await account.passWithDrafts([{ draftKey: 'draft one', key: 'another' }])

  expect(await account.subjects()).toEqual(['one again', 'three', 'two'])
  expect((await readIndex(db)).find(({ content }) => content === 'one again')).toMatchObject({
    id: before.id,
  })
  await account.passWithDrafts([])
  expect(await account.subjects()).toEqual(['one again', 'three', 'two'])
})
