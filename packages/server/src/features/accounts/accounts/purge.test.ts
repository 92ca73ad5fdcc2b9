import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../../../../test/database-text.ts'
import { type TestApp, openTestApp } from '../../../../test/open-app.ts'
import { openTestWings } from '../../../../test/open-wings.ts'
import { sampleAccount, sampleMailbox, sampleMessages } from '../../../../test/sample-rows.ts'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import { purgeDueAccounts } from './purge.ts'

const NEVER = new AbortController().signal

/**
 * Creates an account with the word in every field that can hold one, in every table. Some tables get more than one
 * batch.
 */
async function accountFullOf(app: TestApp, word: string, messageCount = 3) {
  const { db, tenantId } = app
  const server = { host: `${word}.example`, port: 993, security: 'tls', user: word }
  const account = await sampleAccount(db, tenantId, {
    email: `${word}@example.com`,
    display_name: word,
    status_reason: word,
    runtime_detail: word,
    imap: JSON.stringify({ imap: server, smtp: server, auth: 'password', appendSent: true, dav: null }),
    settings_override: JSON.stringify({ syncWindowDays: null }),
    data_key: Buffer.from(word),
  })
  const mailbox = await sampleMailbox(db, account, {
    name: word,
    provider_key: word,
    provider_id: word,
    source: word,
  })
  const child = await sampleMailbox(db, account, { name: 'child', parent_id: mailbox.id })
  const person = { name: word, address: `${word}@example.com` }
  await sampleMessages(
    db,
    account,
    Array.from({ length: messageCount }, () => ({
      mailboxIds: [mailbox.id, child.id],
      threadId: word,
      subject: word,
      from: person,
      to: [person],
      cc: [person],
      bcc: [person],
      snippet: word,
    })),
  )
  await db
    .insertInto('sync_cursor')
    .values({ account_id: account.id, source: word, cursor: JSON.stringify({ word }) })
    .execute()
  await db
    .insertInto('thread_link')
    .values({ account_id: account.id, reference: newId(), thread_id: newId() })
    .execute()
  await db
    .insertInto('quarantined_message')
    .values({
      account_id: account.id,
      source: word,
      uid: 1,
      reason: word,
      attempts: 3,
      parser_version: 1,
      next_attempt_at: new Date(),
    })
    .execute()
  await db
    .insertInto('account_secret')
    .values({ account_id: account.id, name: 'imap_password', sealed: Buffer.from(word) })
    .execute()
  await app.post(`/v1/accounts/${account.id}/tokens`)
  const identities = `/v1/accounts/${account.id}/identities`
  const signature = { html: word, text: word }
  await app.post(identities, { address: `${word}@alias.example`, name: word, signature })
  await app.patch(`${identities}/${account.id}`, { signature })
  await app.patch(`/v1/accounts/${account.id}`, { settings: { trackOpens: true } })
  return account
}

async function eventsOf(app: TestApp): Promise<ChangeEvent[]> {
  return (await app.get<{ items: ChangeEvent[] }>('/v1/changes?limit=200')).body.items
}

/** Counts the rows of this account in each table. */
async function countRows(db: Db, accountId: string) {
  const counts: Record<string, number> = {}
  for (const table of [
    'mailbox',
    'message',
    'thread_link',
    'sync_cursor',
    'quarantined_message',
    'account_secret',
    'account_token',
    'identity',
    'mail_settings',
  ]) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from ${sql.table(table)} where account_id = ${accountId}`.execute(db)
    counts[table] = rows[0]?.count ?? -1
  }
  return counts
}

/** What purges with the steps of every wing, so that a table which a wing forgets is found. */
async function openPurge(app: TestApp) {
  const opened = await openTestWings(app)
  const steps = opened.wings.toReversed().flatMap(({ purgeStep }) => purgeStep ?? [])
  return {
    run: (signal: AbortSignal) => purgeDueAccounts(app.db, steps, signal),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

describe('purgeDueAccounts', () => {
  test('leaves no data of the account in any table, but keeps the ids of its events', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const purged = await accountFullOf(app, 'canary', 2100)
    const kept = await accountFullOf(app, 'sparrow')
    const keptRows = await countRows(app.db, kept.id)
    expect(await tablesWith(app.db, 'canary')).toContain('message')
    await app.delete(`/v1/accounts/${purged.id}?purge=true`)
    const before = await eventsOf(app)

    await purge.run(NEVER)

    expect(await tablesWith(app.db, 'canary')).toEqual([])
    expect(Object.values(await countRows(app.db, purged.id))).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0])
    expect(await countRows(app.db, kept.id)).toEqual(keptRows)
    const after = await eventsOf(app)
    expect(after.slice(0, -1).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(after.filter(({ accountId }) => accountId === purged.id).map(({ data }) => data)).toEqual([{}, {}])
    expect(after.find(({ accountId }) => accountId === kept.id)?.data).toHaveProperty('account')
    expect(after.at(-1)).toMatchObject({
      type: 'account.purged',
      accountId: null,
      data: { accountId: purged.id, externalRef: null },
    })
    expect((await app.delete(`/v1/accounts/${purged.id}`)).body).toBeNull()
    expect((await app.get(`/v1/accounts/${purged.id}`)).body['code']).toBe('account_not_found')
    expect(app.logLines.join('')).not.toContain('canary')
  })

  test('waits until it is due', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const { id } = await accountFullOf(app, 'canary')
    await app.delete(`/v1/accounts/${id}`)

    await purge.run(NEVER)
    expect(await tablesWith(app.db, 'canary')).toContain('message')

    await app.db
      .updateTable('account')
      .set({ purge_after: sql`now() - interval '1 second'` })
      .execute()
    await purge.run(NEVER)
    expect(await tablesWith(app.db, 'canary')).toEqual([])
  })

  test('has the same result wherever it is interrupted, and is announced once', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const { id } = await accountFullOf(app, 'canary')
    await app.delete(`/v1/accounts/${id}?purge=true`)

    for (let steps = 1; steps < 40; steps += 1) await purge.run(abortedAfter(steps))
    await Promise.all([purge.run(NEVER), purge.run(NEVER)])

    expect(await tablesWith(app.db, 'canary')).toEqual([])
    expect((await eventsOf(app)).filter(({ type }) => type === 'account.purged')).toHaveLength(1)
  })
})

/** A signal that is aborted after it was read this many times. */
function abortedAfter(looks: number): AbortSignal {
  let left = looks
  return {
    ...NEVER,
    get aborted() {
      return left-- <= 0
    },
  } as AbortSignal
}
