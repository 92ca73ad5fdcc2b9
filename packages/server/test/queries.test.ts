import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Database, Db } from '../src/database/pool.ts'
import type { Tables } from '../src/database/tables.ts'
import { findFeedHead, readFeed } from '../src/features/notifications/changes/store.ts'
import { type MessageFilters, listSummaries } from '../src/features/mail/messages/store.ts'
import { listStale } from '../src/features/mail/content/rewrite-documents.ts'
import { listFullAccounts, listUnstored, listUnstoredOf } from '../src/features/mail/content/unstored.ts'
import { listUnindexed } from '../src/features/mail/content/body-index.ts'
import { listStaleAccounts } from '../src/accounts/halves/search-version.ts'
import { bandStatement } from '../src/features/mail/search/store.ts'
import { findThread, listThreads } from '../src/features/mail/threads/store.ts'
import { parseQuery } from '../src/kit/search-text/query.ts'
import { openTestDatabase } from './open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessages, sampleTenant } from './sample-rows.ts'

const ID = '0190d9a4-7c1e-7000-8000-000000000001'
const position = { time: '2026-03-01T10:00:00.000Z', id: ID }
const every: MessageFilters = {
  from: 'ada',
  to: 'bob',
  unread: true,
  flagged: true,
  hasAttachments: true,
  importance: 'high',
  after: new Date(0),
  before: new Date(1),
}

const list = (filters: MessageFilters, at: typeof position | null) => (db: Db) =>
  listSummaries(db, { tenantId: ID, id: ID }, { filters, position: at, limit: 50 })
const threads = (mailboxId?: string) => (db: Db) => listThreads(db, ID, { mailboxId, position, limit: 25 })
const feed = (accountIds: string[] | null, types: ['message.created'] | null) => (db: Db) =>
  readFeed(db, { tenantId: ID, accountIds, types }, '1', 50)

const search = (q: string, filters: MessageFilters) => (db: Db) => {
  const band = { above: position, end: null, behind: null }
  return bandStatement(ID, {
    query: parseQuery(q)!,
    filters,
    band,
    size: 5000,
    looks: 20_000,
    limit: 26,
  }).execute(db)
}

/** The most frequent statements, by their purpose. */
const HOT: Record<string, (db: Db) => Promise<unknown>> = {
  'messages of an account, first page': list({}, null),
  'messages of an account, a later page': list({}, position),
  'messages of an account, every filter': list(every, position),
  'messages of a mailbox, a later page': list({ mailboxId: ID }, position),
  'messages of a mailbox, every filter': list({ ...every, mailboxId: ID }, position),
  'threads of an account': threads(),
  'threads of a mailbox': threads(ID),
  'a thread': db => findThread(db, ID, 'thread'),
  'messages to store': db => listUnstored(db, ID, null),
  'messages to store, farther down': db => listUnstored(db, ID, { receivedAt: new Date(0), id: ID }),
  'new messages to store': db => listUnstoredOf(db, ID, [ID]),
  'accounts that store every message': db =>
    listFullAccounts(db, [{ id: ID, tenantId: ID, instanceId: ID, epoch: '1' }]),
  'stored bodies to index': db => listUnindexed(db, { ownerId: ID, after: ID }),
  'accounts whose documents to rewrite': db =>
    listStaleAccounts(db, { id: ID, tenant_id: ID, search_version: 0 }, 100),
  'documents to rewrite': db => listStale(db, ID, { receivedAt: new Date(0), id: ID }),
  'a search for words': search('alpha beta', {}),
  'a search for a phrase, every filter': search('"alpha beta"', { ...every, mailboxId: ID }),
  'a search with an exclusion': search('-alpha', every),
  'a search of a mailbox with an exclusion': search('-alpha', { mailboxId: ID }),
  'the change feed': feed(null, null),
  'the change feed, filtered': feed([ID], ['message.created']),
  'the head of the change feed': db => findFeedHead(db, ID),
}

/** The statement as sent to PostgreSQL, without a PostgreSQL. */
async function statementOf(run: (db: Db) => Promise<unknown>): Promise<string> {
  const statements: string[] = []
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: of => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: event => void statements.push(event.query.sql),
  })
  await run(db)
  expect(statements).toHaveLength(1)
  return statements[0]!
}

/** The text as sent, with normalized indentation. */
function readable(statement: string): string {
  const lines = statement.split('\n').map(line => line.trim())
  return lines.filter(line => line !== '').join('\n')
}

/** The statements are prepared, so a value in the text, or a text that varies, would cost a plan at each use. */
test('the hot statements are those of goldens/queries.sql; update it with `vitest -u`', async () => {
  const sections: string[] = []
  for (const [name, run] of Object.entries(HOT))
    sections.push(`-- ${name}\n${readable(await statementOf(run))};\n`)
  await expect(sections.join('\n')).toMatchFileSnapshot('goldens/queries.sql')
})

describe('the plan of a hot statement', () => {
  let database: Database

  // Enough messages for a scan of the table to look cheap to a planner that goes wrong.
  beforeAll(async () => {
    database = await openTestDatabase()
    const { db } = database
    const tenant = await sampleTenant(db)
    for (const count of [20_000, 200]) {
      const account = await sampleAccount(db, tenant.id)
      const boxes = [await sampleMailbox(db, account), await sampleMailbox(db, account)]
      const messages = Array.from({ length: count }, (_, nth) => ({
        mailboxIds: [boxes[nth % 2]!.id],
        threadId: `t${nth % Math.floor(count / 4)}`,
        receivedAt: new Date(nth * 60_000),
        isRead: nth % 10 > 0,
        isFlagged: nth % 100 === 0,
      }))
      await sampleMessages(db, account, messages)
    }
    await sql`
      insert into event (tenant_id, id, type, data)
      select ${tenant.id}, nextval('event_id'), 'message.updated', '{}' from generate_series(1, 20000)
    `.execute(db)
    // Nearly all of them are stored.
    await sql`
      insert into message_blob (id, tenant_id, account_id, message_id)
      select id, tenant_id, account_id, id from message order by received_at desc offset 10
    `.execute(db)
    for (const table of [
      'account',
      'account_half',
      'tenant',
      'mailbox',
      'message',
      'message_mailbox',
      'message_blob',
      'message_search',
      'event',
    ]) {
      await sql`analyze ${sql.table(table)}`.execute(db)
    }
    return () => database[Symbol.asyncDispose]()
  })

  test.each(Object.entries(HOT))('uses only indexes: %s', async (_, run) => {
    const explain = sql.raw<{ 'QUERY PLAN': string }>(
      `explain (generic_plan, costs off) ${await statementOf(run)}`,
    )
    const { rows } = await explain.execute(database.db)
    const plan = rows.map(row => row['QUERY PLAN'])
    expect(plan.join('\n')).not.toMatch(
      /(?:Seq Scan|Bitmap Heap Scan) on (?:message|message_mailbox|message_blob|event)\b/,
    )
    // The order of a list is that of its index. Only a page, or the content of one thread, is sorted.
    expect(plan.join('\n')).not.toMatch(/Sort Key: (?:message|held|looked)\.received_at/)
  })
})
