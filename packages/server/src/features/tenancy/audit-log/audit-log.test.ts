/** @module-tag postgres-16 */
import { ACTOR_TYPES, type AuditEntry } from '@waxwing/contract/tenancy/audit-log.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/open-app.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { firstIdAt, newId, timeOfId } from '../../../kit/ids.ts'
import { openLog } from '../../../kit/log.ts'
import { openChain } from './chain.ts'
import type { AuditRow } from './entry.ts'
import { chainOpenRows } from './record-chain.ts'
import { recordLoneRows } from './record-rows.ts'
import { listRows } from './store.ts'

const SEED = process.env['WAXWING_SEED'] ?? '1'
const ROWS = 240
const chain = openChain(Buffer.alloc(32, 9))
const log = openLog({ level: 'silent', format: 'json' })

const ACTIONS = ['account.create', 'account.update', 'account_token.create', 'message.update'] as const
const STATUSES = [200, 202, 299, 300, 400, 404, 500] as const
const actors = Array.from({ length: 4 }, () => newId())
const accounts = Array.from({ length: 4 }, () => newId())
const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)

let app: TestApp
let rows: AuditRow[]
beforeAll(async () => {
  app = await openTestApp()
  const random = seeded(SEED)
  const other = (await sampleTenant(app.db)).id
  rows = Array.from({ length: ROWS }, (_, nth) => rowAt(random, app.tenantId, nth))
  const others = Array.from({ length: 20 }, (_, nth) => rowAt(random, other, ROWS + nth))
  // Some rows are chained and the latest are not.
  await recordLoneRows(app.db, [...rows.slice(0, ROWS - 15), ...others])
  await chainOpenRows(app.db, chain, log)
  await recordLoneRows(app.db, rows.slice(ROWS - 15))
})
afterAll(() => app[Symbol.asyncDispose]())

function rowAt(random: Random, tenantId: string, nth: number): AuditRow {
  const type = random.pick(ACTOR_TYPES)
  const status = random.pick(STATUSES)
  return {
    // Several rows have the same time.
    id: firstIdAt(START + Math.floor(nth / 4) * 3_600_000).slice(0, -12) + String(nth).padStart(12, '0'),
    tenantId,
    actor: { type, id: type === 'operator' ? null : random.pick(actors), label: 'someone' },
    action: random.pick(ACTIONS),
    surface: 'v1',
    targets: random.chance(0.7) ? { accountId: random.pick(accounts) } : {},
    ip: random.chance(0.5) ? '203.0.113.7' : null,
    userAgent: null,
    status,
    errorReason: status < 300 ? null : 'internal_error',
    requestId: `request-${nth}`,
  }
}

type Page = { items: AuditEntry[]; nextCursor: string | null }
const list = (query: string, caller: Pick<TestApp, 'get'> = app) => caller.get<Page>(`/v1/audit-log?${query}`)

/** Every page of a list, as ids. */
async function listAll(query: string, limit: number): Promise<string[]> {
  const ids: string[] = []
  let cursor = ''
  for (;;) {
    const { status, body } = await list(`${query}&limit=${limit}${cursor}`)
    expect(status).toBe(200)
    expect(body.items.length).toBeLessThanOrEqual(limit)
    ids.push(...body.items.map(({ id }) => id))
    if (body.nextCursor === null) return ids
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}

/** Filters by their names in the query, with the rows that they let pass. */
interface Filter {
  query: string
  passes(row: AuditRow): boolean
}
const isSuccess = ({ status }: AuditRow) => status >= 200 && status < 300
const timeOf = ({ id }: AuditRow) => timeOfId(id) ?? 0
const FILTERS: ReadonlyArray<(random: Random) => Filter> = [
  random => {
    const type = random.pick(ACTOR_TYPES)
    return { query: `actorType=${type}`, passes: row => row.actor.type === type }
  },
  random => {
    const id = random.pick(actors)
    return { query: `actorId=${id.toUpperCase()}`, passes: row => row.actor.id === id }
  },
  random => {
    const action = random.pick([
      ...ACTIONS,
      'account.',
      'account_token.',
      'message.',
      'nothing.',
      'account.create.',
    ])
    const isPrefix = action.endsWith('.')
    return {
      query: `action=${action}`,
      passes: row => (isPrefix ? row.action.startsWith(action) : row.action === action),
    }
  },
  random => {
    const id = random.pick([...accounts, newId()])
    return { query: `accountId=${id}`, passes: row => row.targets['accountId'] === id }
  },
  random =>
    random.chance(0.5)
      ? { query: 'outcome=success', passes: isSuccess }
      : { query: 'outcome=failure', passes: row => !isSuccess(row) },
  random => {
    const from = START + random.between(0, 60) * 3_600_000
    return { query: `from=${new Date(from).toISOString()}`, passes: row => timeOf(row) >= from }
  },
  random => {
    // After every `from`.
    const to = START + 61 * 3_600_000 + random.between(0, 3) * DAY
    return { query: `to=${new Date(to).toISOString()}`, passes: row => timeOf(row) < to }
  },
]

describe('GET /v1/audit-log', () => {
  test('lists the rows that the filters let pass, newest first, in pages of any size', async () => {
    for (let nth = 0; nth < 60; nth += 1) {
      const random = seeded(`${SEED}/${nth}`)
      const filters = FILTERS.filter(() => random.chance(nth === 0 ? 0 : 0.3)).map(filter => filter(random))
      const query = filters.map(filter => filter.query).join('&')
      const expected = rows.filter(row => filters.every(filter => filter.passes(row))).map(({ id }) => id)
      const limit = random.pick([7, 50, 200])
      expect({ query, ids: await listAll(query, limit) }).toEqual({
        query,
        ids: expected.toSorted().toReversed(),
      })
    }
  })

  test('shows an entry as it was recorded', async () => {
    const row = rows.find(({ ip, targets }) => ip !== null && targets['accountId'] !== undefined)!
    const { tenantId: _, ...shown } = row
    const { body } = await list('limit=200')
    expect(await listAll('', 200)).toContain(row.id)
    const all = [
      ...body.items,
      ...(await list(`limit=200&cursor=${encodeURIComponent(body.nextCursor!)}`)).body.items,
    ]
    expect(all.find(({ id }) => id === row.id)).toEqual({
      ...shown,
      createdAt: new Date(timeOf(row)).toISOString(),
    })
  })

  test.each([
    ['from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z', 'invalid_range'],
    ['from=2026-01-03T00:00:00Z&to=2026-01-02T00:00:00Z', 'invalid_range'],
    ['cursor=forged', 'invalid_cursor'],
    ['actorType=robot', 'invalid_input'],
    ['actorId=ada', 'invalid_input'],
    ['outcome=maybe', 'invalid_input'],
    ['action=', 'invalid_input'],
    ['from=yesterday', 'invalid_input'],
    ['limit=201', 'invalid_input'],
    ['colour=blue', 'invalid_input'],
  ])('with %s is refused: %s', async (query, reason) => {
    expect(await list(query)).toMatchObject({ status: 400, body: { code: reason } })
  })

  test('refuses the cursor of other filters, another list or another tenant', async () => {
    const { body } = await list('action=account.&limit=1')
    const cursor = encodeURIComponent(body.nextCursor!)
    expect((await list(`action=account.&limit=9&cursor=${cursor}`)).status).toBe(200)
    const stranger = await app.createTenant('stranger')
    for (const [query, caller] of [
      [`action=account.create&cursor=${cursor}`, app],
      [`cursor=${cursor}`, app],
      [`action=account.&cursor=${cursor}`, stranger],
    ] as const)
      expect(await list(query, caller)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })

  test('is for keys with the scope admin that are bound to no account', async () => {
    const writer = await app.createKey({ scopes: ['read', 'write', 'send'] })
    expect(await list('', app.as(writer.text))).toMatchObject({
      status: 403,
      body: { code: 'missing_scope' },
    })
    const account = await sampleAccount(app.db, app.tenantId)
    const bound = await app.createKey({ accountIds: [account.id] })
    expect(await list('', app.as(bound.text))).toMatchObject({
      status: 403,
      body: { code: 'account_scope_forbidden' },
    })
  })

  test('shows a change as soon as it is answered', async () => {
    const { headers } = await app.patch('/v1/settings', { undoSendSeconds: 7 })
    const { body } = await list('limit=1&action=settings.update')
    expect(body.items).toMatchObject([
      { requestId: headers.get('x-request-id'), status: 200, errorReason: null },
    ])
  })
})

test('each filter reads its index, newest first', async () => {
  // With one connection, the statistics of its reads are visible at once.
  await using database = await openTestDatabase({ connectionsMax: 1 })
  const { db } = database
  const tenantId = (await sampleTenant(db)).id
  await sql`
    insert into audit_entry
    select ${tenantId}, n, '', gen_random_uuid(), 'apiKey', gen_random_uuid(), null, 'a' || n % 9 || '.b', 'v1',
      json_build_object('accountId', gen_random_uuid())::jsonb, null, null, case n % 50 when 0 then 404 else 200 end,
      null, ''
    from generate_series(1, 10000) as n
  `.execute(db)
  await sql`analyze audit_entry`.execute(db)
  const indexes: Record<string, Parameters<typeof listRows>[1]> = {
    audit_entry_list: { tenantId },
    audit_entry_actor_type: { tenantId, actorType: 'operator' },
    audit_entry_actor: { tenantId, actorId: newId() },
    audit_entry_action: { tenantId, action: 'a1.b' },
    audit_entry_resource: { tenantId, action: 'a1.' },
    audit_entry_account: { tenantId, accountId: newId() },
    audit_entry_failure: { tenantId, outcome: 'failure' },
  }
  for (const [index, filter] of Object.entries(indexes)) {
    const before = await usesOf(index)
    await listRows(db, filter, null, 50)
    expect({ index, uses: (await usesOf(index)) - before }).toEqual({ index, uses: 1 })
  }

  async function usesOf(index: string): Promise<number> {
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const { rows: found } = await sql<{ uses: number }>`
      select idx_scan::int as uses from pg_stat_user_indexes where indexrelname = ${index}
    `.execute(db)
    return found[0]?.uses ?? 0
  }
})
