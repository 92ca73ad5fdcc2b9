/** @module-tag postgres-16-in-soak */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COPIED, OTHERS_ROWS, ROWS, tampers } from '../../../../test/audit-tampers.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleTenant } from '../../../../test/sample-rows.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import type { Database, Db } from '../../../database/pool.ts'
import { firstIdAt, newId } from '../../../kit/ids.ts'
import { openLog } from '../../../kit/log.ts'
import { openChain } from './chain.ts'
import type { AuditRow } from './entry.ts'
import { chainOpenRows } from './record-chain.ts'
import { recordLoneRows, recordRow } from './record-rows.ts'
import { measureWait } from './store.ts'
import { KEPT_DAYS, trimChains } from './trim-chains.ts'
import { type Finding, verifyChain } from './verify.ts'

const TAMPERS = Number(process.env['WAXWING_TEST_TAMPERS'] ?? 1000)
const SEED = process.env['WAXWING_SEED'] ?? '1'
const chain = openChain(Buffer.alloc(32, 7))
const lines: string[] = []
const log = openLog({ level: 'info', format: 'json', destination: { write: line => void lines.push(line) } })

let database: Database
let db: Db
beforeAll(async () => {
  database = await openTestDatabase()
  db = database.db
})
afterAll(() => database[Symbol.asyncDispose]())

function rowOf(tenantId: string, change: Partial<AuditRow> = {}): AuditRow {
  return {
    id: newId(),
    tenantId,
    actor: { type: 'apiKey', id: newId(), label: 'backend' },
    action: 'account.create',
    surface: 'v1',
    targets: { accountId: newId() },
    ip: '203.0.113.7',
    userAgent: 'probe/1.0',
    status: 200,
    errorReason: null,
    requestId: newId(),
    ...change,
  }
}

const rowsOf = (tenantId: string, count: number) => Array.from({ length: count }, () => rowOf(tenantId))
const chainAll = async () => {
  while (await chainOpenRows(db, chain, log));
}

async function verify(on: Db, tenantId: string, heads: readonly string[] = []) {
  const findings: Finding[] = []
  const missing = new Set(heads)
  const verified = await verifyChain(on, chain, tenantId, {
    heads: missing,
    report: one => void findings.push(one),
  })
  return { ...verified, findings, missing: [...missing] }
}

async function headOf(tenantId: string): Promise<string> {
  const { head } = await verify(db, tenantId)
  return head.hash.toString('hex')
}

/** A tenant with a chain of `rows` rows. */
async function openTenant(rows: number): Promise<string> {
  const { id } = await sampleTenant(db)
  await recordLoneRows(db, rowsOf(id, rows))
  await chainAll()
  return id
}

test('a chain holds each row once, in one order without gaps, however writers and chaining overlap', async () => {
  const random = seeded(SEED)
  const tenants = [(await sampleTenant(db)).id, (await sampleTenant(db)).id] as const
  const committed = new Set<string>()
  const written = new AbortController()
  async function write(on: Random) {
    for (let nth = 0; nth < 20; nth += 1) {
      const row = rowOf(on.pick(tenants))
      const isKept = on.chance(0.8)
      await db
        .transaction()
        .execute(async tx => {
          await recordRow(tx, row)
          // Later rows are chained before this one is visible.
          await sql`select pg_sleep(${on.between(0, 15) / 1000})`.execute(tx)
          if (!isKept) throw new Error('rolled back')
        })
        .then(
          () => committed.add(row.id),
          () => {},
        )
    }
  }
  async function keepChaining() {
    while (!written.signal.aborted) await chainOpenRows(db, chain, log)
  }
  const chainers = [keepChaining(), keepChaining()]
  await Promise.all([1, 2, 3, 4, 5, 6].map(nth => write(random.fork(`writer ${nth}`))))
  written.abort()
  await Promise.all(chainers)
  await chainAll()

  const chained = await db
    .selectFrom('audit_entry')
    .select(['id', 'tenant_id', 'position'])
    .where('tenant_id', 'in', tenants)
    .orderBy('tenant_id')
    .orderBy('position')
    .execute()
  expect(chained.map(({ id }) => id).toSorted()).toEqual([...committed].toSorted())
  for (const tenantId of tenants) {
    const own = chained.filter(row => row.tenant_id === tenantId)
    expect(own.map(({ position }) => Number(position))).toEqual(own.map((_, nth) => nth + 1))
    expect(await verify(db, tenantId)).toMatchObject({ rows: own.length, findings: [] })
  }
})

test('a row that is recorded again stays as it is, whether it is chained or not', async () => {
  const { id: tenantId } = await sampleTenant(db)
  const row = rowOf(tenantId)
  await db.transaction().execute(tx => recordRow(tx, row))
  await recordLoneRows(db, [{ ...row, status: 500 }])
  await chainAll()
  await recordLoneRows(db, [{ ...row, status: 500 }])
  // As if both had been written at the same time.
  await db.transaction().execute(tx => recordRow(tx, { ...row, status: 500 }))
  await chainAll()
  const rows = await db.selectFrom('audit_entry').select('status').where('tenant_id', '=', tenantId).execute()
  expect(rows).toEqual([{ status: 200 }])
  expect(await verify(db, tenantId)).toMatchObject({ rows: 1, findings: [] })
})

test('the time for which the oldest row has waited ends when it is chained', async () => {
  const { id: tenantId } = await sampleTenant(db)
  await chainAll()
  const now = Date.now()
  expect(await measureWait(db, now)).toBe(0)
  const old = firstIdAt(now - 90_000).slice(0, -12) + randomBytes(6).toString('hex')
  await recordLoneRows(db, [rowOf(tenantId, { id: old }), rowOf(tenantId)])
  expect(await measureWait(db, now)).toBeCloseTo(90, 0)
  await chainAll()
  expect(await measureWait(db, now)).toBe(0)
})

describe('verification', () => {
  test(`finds each of ${TAMPERS} ways to change the log`, { timeout: 300_000 + TAMPERS * 200 }, async () => {
    const tenants = { own: await openTenant(ROWS), other: await openTenant(OTHERS_ROWS) }
    const names = Object.keys(tampers)
    const unnoticed: string[] = []
    for (let nth = 0; nth < TAMPERS; nth += 1) {
      const name = names[nth % names.length]!
      const random = seeded(`${SEED}/${nth}`)
      const undone = new Error('undone')
      await db
        .transaction()
        .execute(async tx => {
          await tampers[name]!(tx, random, tenants)
          const { findings } = await verify(tx, tenants.own)
          if (findings.length === 0) unnoticed.push(`WAXWING_SEED=${SEED}: ${nth} (${name})`)
          throw undone
        })
        .catch((error: unknown) => {
          if (error !== undone) throw error
        })
    }
    expect(unnoticed).toEqual([])
    expect(await verify(db, tenants.own)).toMatchObject({ rows: ROWS, findings: [] })
  })

  test('lists the rows that were edited or removed', async () => {
    const tenantId = await openTenant(20)
    await sql`update audit_entry set status = 201 where tenant_id = ${tenantId} and position = 3`.execute(db)
    await sql`delete from audit_entry where tenant_id = ${tenantId} and position between 8 and 9`.execute(db)
    const { findings } = await verify(db, tenantId)
    expect(findings).toMatchObject([
      { kind: 'changed', position: 3n },
      { kind: 'removed', from: 8n, to: 9n },
    ])
  })

  test('finds by a kept head that the end was cut off with all signs of it', async () => {
    const tenantId = await openTenant(10)
    const early = await db.selectFrom('audit_chain').selectAll().where('tenant_id', '=', tenantId).execute()
    await recordLoneRows(db, rowsOf(tenantId, 5))
    await chainAll()
    const head = await headOf(tenantId)
    expect(await verify(db, tenantId, [head])).toMatchObject({ findings: [], missing: [] })
    // The ends were copied before, with their seal.
    await sql`delete from audit_entry where tenant_id = ${tenantId} and position > 10`.execute(db)
    await db.updateTable('audit_chain').set(early[0]!).where('tenant_id', '=', tenantId).execute()
    expect(await verify(db, tenantId, [head])).toMatchObject({ findings: [], missing: [head] })
  })

  test('needs the key that the rows were chained with', async () => {
    const tenantId = await openTenant(3)
    const findings: Finding[] = []
    await verifyChain(db, openChain(Buffer.alloc(32, 8)), tenantId, {
      heads: new Set(),
      report: one => void findings.push(one),
    })
    expect(findings).toHaveLength(3)
  })
})

describe('a log that was changed', () => {
  test.each<[string, string]>([
    ['whose end was cut off', 'delete from audit_entry where tenant_id = $ and position > 4'],
    ['whose ends were removed', 'delete from audit_chain where tenant_id = $'],
    ['whose ends were moved', 'update audit_chain set head_position = 2 where tenant_id = $'],
    [
      'to which rows were added',
      `insert into audit_entry select tenant_id, position + 10, hash, ${COPIED} from audit_entry where tenant_id = $`,
    ],
  ])('%s goes on, and reads as changed for good', async (_, tamper) => {
    const tenantId = await openTenant(6)
    await sql.raw(tamper.replaceAll('$', `'${tenantId}'`)).execute(db)
    const other = await openTenant(0)
    await recordLoneRows(db, [...rowsOf(tenantId, 2), ...rowsOf(other, 2)])
    await chainAll()
    expect(lines.some(line => line.includes('changed from outside') && line.includes(tenantId))).toBe(true)
    expect((await verify(db, tenantId)).findings).toContainEqual(expect.objectContaining({ kind: 'noticed' }))
    expect(await verify(db, other)).toMatchObject({ rows: 2, findings: [] })
    const open = await sql`select from audit_open`.execute(db)
    expect(open.rows).toEqual([])
  })
})

describe('retention', () => {
  const DAY = 86_400_000
  const now = Date.now()
  const idAt = (time: number) => firstIdAt(time).slice(0, -12) + randomBytes(6).toString('hex')
  const trim = () => trimChains(db, chain, { now, log, signal: new AbortController().signal })
  const agesOf = async (tenantId: string) => (await verify(db, tenantId)).rows

  /** A tenant with a chain of rows of the given ages in days. */
  async function openAged(days: readonly number[]): Promise<string> {
    const { id } = await sampleTenant(db)
    await recordLoneRows(
      db,
      days.map(age => rowOf(id, { id: idAt(now - age * DAY) })),
    )
    await chainAll()
    return id
  }

  test('removes older rows, and leaves a chain that can be verified', async () => {
    const tenantId = await openAged([KEPT_DAYS + 3, KEPT_DAYS + 2, KEPT_DAYS - 1, 1])
    const head = await headOf(tenantId)
    await trim()
    expect(await verify(db, tenantId, [head])).toMatchObject({ rows: 2, findings: [], missing: [] })
    await recordLoneRows(db, rowsOf(tenantId, 2))
    await chainAll()
    await trim()
    expect(await verify(db, tenantId, [head])).toMatchObject({ rows: 4, findings: [], missing: [] })
  })

  test('of all rows leaves the hash of the last one', async () => {
    const tenantId = await openAged([KEPT_DAYS + 3, KEPT_DAYS + 2])
    const head = await headOf(tenantId)
    await trim()
    expect(await verify(db, tenantId, [head])).toMatchObject({ rows: 0, findings: [], missing: [] })
    await recordLoneRows(db, rowsOf(tenantId, 1))
    await chainAll()
    expect(await verify(db, tenantId)).toMatchObject({ rows: 1, findings: [] })
  })

  test('keeps a row that was changed, and the rows after it', async () => {
    const tenantId = await openAged([KEPT_DAYS + 5, KEPT_DAYS + 4, KEPT_DAYS + 3])
    await sql`update audit_entry set status = 201 where tenant_id = ${tenantId} and position = 2`.execute(db)
    await trim()
    expect(await agesOf(tenantId)).toBe(2)
    expect((await verify(db, tenantId)).findings).toMatchObject([{ kind: 'changed', position: 2n }])
  })
})
