/** @module-tag postgres-16 */
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { type KyselyPlugin, type PluginTransformQueryArgs, type PluginTransformResultArgs, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../../../../test/database-text.ts'
import { type TestApp, openTestApp } from '../../../../test/open-app.ts'
import { openTestWings } from '../../../../test/open-wings.ts'
import { sampleAccount, sampleMailbox, sampleMessages } from '../../../../test/sample-rows.ts'
import type { Db } from '../../../database/pool.ts'
import { purgeAnswers } from '../../../door/idempotency.ts'
import { newId } from '../../../kit/ids.ts'
import { silentLog } from '../../../kit/log.ts'
import { measureFailingPurges, purgeDueAccounts } from './purge.ts'
import { type PurgeStep } from '../../../wing/purge-step.ts'

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

/** A purge with the steps of every wing, so that a table which a wing forgets is found. */
async function openPurge(app: TestApp) {
  const statements = new StatementLimit()
  const db = app.db.withPlugin(statements)
  const opened = await openTestWings({ ...app, database: { ...app.database, db } })
  const steps: PurgeStep[] = [
    (id, signal) => purgeAnswers(db, id, signal),
    ...opened.wings.toReversed().flatMap(({ purgeStep }) => purgeStep ?? []),
  ]
  return {
    steps,
    run: (more: readonly PurgeStep[] = []) =>
      purgeDueAccounts({ db, steps: [...more, ...steps], log: silentLog }, NEVER),
    /** Interrupts it after `count` statements. */
    runFor: (count: number) => purgeDueAccounts({ db, steps, log: silentLog }, statements.abortAfter(count)),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

/** Aborts a signal once a number of statements have begun. */
class StatementLimit implements KyselyPlugin {
  #left = Number.POSITIVE_INFINITY
  #abort = new AbortController()

  abortAfter(count: number): AbortSignal {
    this.#left = count
    this.#abort = new AbortController()
    return this.#abort.signal
  }

  transformQuery({ node }: PluginTransformQueryArgs) {
    if (--this.#left <= 0) this.#abort.abort()
    return node
  }

  transformResult({ result }: PluginTransformResultArgs) {
    return Promise.resolve(result)
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

    await purge.run()

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

    await purge.run()
    expect(await tablesWith(app.db, 'canary')).toContain('message')

    await app.db
      .updateTable('account')
      .set({ purge_after: sql`now() - interval '1 second'` })
      .execute()
    await purge.run()
    expect(await tablesWith(app.db, 'canary')).toEqual([])
  })

  test('has the same result after an interruption at any statement, and is announced once', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const { id } = await accountFullOf(app, 'canary')
    await app.delete(`/v1/accounts/${id}?purge=true`)

    for (let steps = 1; steps < 40; steps += 1) await purge.runFor(steps)
    await Promise.all([purge.run(), purge.run()])

    expect(await tablesWith(app.db, 'canary')).toEqual([])
    expect((await eventsOf(app)).filter(({ type }) => type === 'account.purged')).toHaveLength(1)
  })

  test('that fails is counted, tried again after a pause, and stops no other', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const broken = await accountFullOf(app, 'canary')
    const other = await accountFullOf(app, 'sparrow')
    for (const { id } of [broken, other]) await app.delete(`/v1/accounts/${id}?purge=true`)
    const makeDue = (id: string) =>
      sql`update account set purge_after = clock_timestamp() where id = ${id}`.execute(app.db)
    const fail: PurgeStep = id =>
      id === broken.id ? Promise.reject(new Error('no disk')) : Promise.resolve()

    await purge.run([fail])

    expect(await tablesWith(app.db, 'sparrow')).toEqual([])
    expect(await tablesWith(app.db, 'canary')).toContain('message')
    expect(await measureFailingPurges(app.db)).toMatchObject({ count: 1 })
    const pauses: number[] = []
    for (let failure = 0; failure < 11; failure++) {
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from purge_after - clock_timestamp())::float8 as seconds from account
        where id = ${broken.id}
      `.execute(app.db)
      await makeDue(broken.id)
      pauses.push(Math.round(rows[0]!.seconds / 60))
      await purge.run([fail])
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360])
    await makeDue(broken.id)
    await purge.run()
    expect(await tablesWith(app.db, 'canary')).toEqual([])
    expect(await measureFailingPurges(app.db)).toMatchObject({ count: 0 })
  })

  test('deletes kept answers about the account, and no others', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const [purged, kept] = [await accountFullOf(app, 'canary'), await accountFullOf(app, 'sparrow')]
    const keyed = (key: string) => ({ 'idempotency-key': key })
    const template = (accountId: string | null) => ({
      accountId,
      name: 'canary',
      subject: 'canary',
      text: 'canary',
    })
    await app.post(
      '/v1/templates',
      template(purged.id),
      keyed('template of the account'.replaceAll(' ', '-')),
    )
    await app.post('/v1/templates', template(null), keyed('shared-template'))
    await app.post(`/v1/accounts/${purged.id}/sync`, {}, keyed('sync-of-the-account'))
    await app.post(`/v1/accounts/${kept.id}/sync`, {}, keyed('sync-of-another'))
    await app.delete(`/v1/accounts/${purged.id}?purge=true`)
    await purge.run()
    const rows = await app.db.selectFrom('idempotency_key').select('key').orderBy('key').execute()
    expect(rows.map(({ key }) => key)).toEqual(['shared-template', 'sync-of-another'])
  })

  test('deletes waiting webhook deliveries and the answers of endpoints, of this account only', async () => {
    await using app = await openTestApp()
    await using purge = await openPurge(app)
    const endpointId = newId()
    const [purged, kept] = [await accountFullOf(app, 'canary'), await accountFullOf(app, 'sparrow')]
    await sql`insert into webhook_dispatch (endpoint_id, tenant_id) values (${endpointId}, ${app.tenantId})`.execute(
      app.db,
    )
    for (const [{ id }, word, first] of [
      [purged, 'canary', 1],
      [kept, 'sparrow', 10_001],
    ] as const) {
      await sql`
        insert into webhook_delivery (endpoint_id, event_id, tenant_id, account_id, priority, test_type, test_body)
        select ${endpointId}, ${first} + n, ${app.tenantId}, ${id}, 0, 'webhook.test', ${word}
        from generate_series(1, 2500) as n`.execute(app.db)
      await sql`
        insert into webhook_attempt (endpoint_id, id, tenant_id, event_id, event_type, account_id, attempt, status_code,
          response_excerpt, duration_ms, is_replay, is_test, occurred_at)
        values (${endpointId}, ${newId()}, ${app.tenantId}, ${first}, 'webhook.test', ${id}, 1, 500, ${word}, 1, false,
          true, clock_timestamp())`.execute(app.db)
    }
    await app.delete(`/v1/accounts/${purged.id}?purge=true`)
    await purge.run()
    expect(await tablesWith(app.db, 'canary')).toEqual([])
    for (const table of ['webhook_delivery', 'webhook_attempt'] as const) {
      const { rows } = await sql<{ account_id: string; count: number }>`
        select account_id, count(*)::int as count from ${sql.table(table)} group by account_id`.execute(
        app.db,
      )
      expect(rows).toEqual([{ account_id: kept.id, count: table === 'webhook_delivery' ? 2500 : 1 }])
    }
  })
})
