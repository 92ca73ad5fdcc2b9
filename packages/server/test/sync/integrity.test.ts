import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { compareNow, readIntegrity } from '../sync/compare-now.ts'
import { startCyrus } from '../servers/cyrus.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { readFeed, readMessages } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  readRuntime,
  shortMessages,
  waitForRuntime,
} from './proxied-account.ts'
import { casesFor } from '../soak.ts'

const INBOX_MESSAGES = 40
const ARCHIVED_MESSAGES = 12
/** Below the UIDNEXT of the mailbox, and expunged before the account is connected. */
const GHOST_UID = 3

async function subjectsBy(db: Db, statement: ReturnType<typeof sql>): Promise<string[]> {
  const { rows } = await sql<{ subject: string }>`${statement}`.execute(db)
  return rows.map(({ subject }) => subject)
}

/** Deletes, adds and changes rows as no code of the service would. */
async function damage(db: Db): Promise<{ lost: string[]; changed: string[]; ghost: string[] }> {
  const nth = (...numbers: number[]) => numbers.map(number => `message ${number}`)
  const lost = await subjectsBy(
    db,
    sql`delete from message where subject = any(${nth(4, 9, 33, 105)}) returning subject`,
  )
  const changed = await subjectsBy(
    db,
    sql`update message set is_read = not is_read where subject = any(${nth(12, 107)}) returning subject`,
  )
  const { rows } = await sql<{ name: string }>`
    select column_name as name from information_schema.columns
    where table_schema = 'public' and table_name = 'message' and column_name not in ('id', 'identity', 'subject')
  `.execute(db)
  const columns = sql.join(rows.map(({ name }) => sql.ref(name)))
  const ghost = await subjectsBy(
    db,
    sql`
      with ghost as (
        insert into message (id, identity, subject, ${columns})
        select gen_random_uuid(), gen_random_uuid(), 'a ghost', ${columns} from message where subject = 'message 20'
        returning id, subject, mailbox_ids, received_at
      ), held as (
        insert into message_mailbox (mailbox_id, received_at, message_id, uid)
        select mailbox_ids[1], received_at, id, ${GHOST_UID} from ghost
      )
      select subject from ghost`,
  )
  return { lost, changed, ghost }
}

const ALL = [
  ['Dovecot', () => startDovecot()],
  ['a poor Dovecot', () => startDovecot({ flavour: 'poor' })],
  ['Cyrus', () => startCyrus()],
] as const
const SERVERS = casesFor(ALL, ([name]) => name === 'a poor Dovecot')

describe('integrity', () => {
  test.concurrent.each(SERVERS)(
    'on %s, rows that were changed behind the back of the service are found, repaired and announced once',
    { tags: ['postgres-16-in-soak'] },
    async (name, start) => {
      await using account = await openProxiedAccount({
        start,
        async arrange(world) {
          const uids = await world.deliver(shortMessages(0, INBOX_MESSAGES + 1))
          await world.expunge('INBOX', [uids[GHOST_UID - 1]!])
          await world.flag('INBOX', [uids[12]!], '\\Seen', 'work')
          await world.createMailbox(world.at('Kept'))
          await world.deliver(shortMessages(100, ARCHIVED_MESSAGES), world.at('Kept'))
        },
      })
      const { app, accountId } = account
      expect(await compareNow(app, accountId)).toMatchObject({
        missing: 0,
        extra: 0,
        changed: 0,
        repaired: 0,
      })
      const { cursor } = await readFeed(app)
      const before = facts(await readMessages(app, accountId))
      const { lost, changed, ghost } = await damage(app.db)
      expect([lost.length, changed.length, ghost.length]).toEqual([4, 2, 1])

      const integrity = await compareNow(app, accountId)

      expect(integrity).toMatchObject({ missing: 0, extra: 0, changed: 0 })
      // Without mod-sequences flags are compared in full from time to time anyway, so they may be repaired before.
      const isExact = name !== 'a poor Dovecot'
      expect(integrity.repaired).toBeGreaterThanOrEqual(lost.length + 1 + (isExact ? changed.length : 0))
      const inbox = integrity.mailboxes.find(({ listed }) => listed === INBOX_MESSAGES)
      expect(inbox).toMatchObject({ indexed: INBOX_MESSAGES })
      expect(facts(await readMessages(app, accountId))).toEqual(before)
      const told = messageEvents((await readFeed(app, cursor)).events)
      expect(told.toSorted()).toEqual(
        [
          ...lost.map(subject => `message.created ${subject}`),
          ...changed.map(subject => `message.updated ${subject}`),
          'message.deleted a ghost',
        ].toSorted(),
      )
      await waitForRuntime(app, accountId, 'live')
    },
  )

  test.concurrent('compares only what is within the sync window', async () => {
    const now = Date.now()
    await using account = await openProxiedAccount({
      settings: { syncWindowDays: 30 },
      async arrange(world) {
        const days = [1, 10, 29, 31, 32, 400]
        const letters = shortMessages(0, days.length)
        await world.deliver(
          letters.map((letter, index) => ({
            ...letter,
            internalDate: new Date(now - days[index]! * 86_400_000),
          })),
        )
      },
    })
    const { app, accountId } = account
    const { mailboxes, repaired } = await compareNow(app, accountId)
    expect([
      mailboxes
        .map(({ listed }) => listed)
        .toSorted()
        .at(-1),
      repaired,
    ]).toEqual([3, 0])
  })

  test.concurrent('is unverified if the server could not be reached for more than a day', async () => {
    await using account = await openProxiedAccount({
      arrange: world => world.deliver(shortMessages(0, 5)),
    })
    const { app, accountId, proxy } = account
    expect(await readIntegrity(app, accountId)).toMatchObject({ state: 'unverified', verifiedAt: null })
    const { verifiedAt } = await compareNow(app, accountId)
    proxy.faults = { byeAtGreeting: 'too many connections' }
    proxy.cutAll()
    await waitForRuntime(app, accountId, 'backoff')
    await sql`update mailbox_comparison set compared_at = compared_at - interval '27 hours'`.execute(app.db)
    expect(await readIntegrity(app, accountId)).toMatchObject({ state: 'unverified', verifiedAt })
  })

  test.concurrent('refuses a refresh of an inactive account, and shares the limit of requested passes', async () => {
    await using account = await openProxiedAccount()
    const { app, accountId } = account
    const path = `/v1/accounts/${accountId}/integrity?refresh=true`
    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    expect(await app.get(path)).toMatchObject({ status: 409, body: { code: 'account_paused' } })
    expect((await readIntegrity(app, accountId)).state).toBe('unverified')
    await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })
    for (let request = 0; request < 15; request++) {
      expect((await app.get(path)).status).toBe(200)
      expect((await app.post(`/v1/accounts/${accountId}/sync`, {})).status).toBe(202)
    }
    const refused = await app.get(path)
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect((await readRuntime(app, accountId))?.state).not.toBe('stopped')
  })
})

function facts(messages: readonly MessageSummary[]): string[] {
  return messages
    .map(({ subject, isRead, isFlagged, categories }) =>
      JSON.stringify([subject, isRead, isFlagged, categories]),
    )
    .toSorted()
}
