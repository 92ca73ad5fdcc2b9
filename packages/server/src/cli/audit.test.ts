/** @module-tag postgres-16 */
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Command } from 'commander'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/pool.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import { openChain } from '../features/tenancy/audit-log/chain.ts'
import { keptHeads } from '../features/tenancy/audit-log/heads.ts'
import { chainOpenRows } from '../features/tenancy/audit-log/record-chain.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'
import { newId } from '../kit/ids.ts'
import { openBlobStore } from '../kit/blobs/blob-store.ts'
import { openFolderObjects } from '../kit/blobs/folder-objects.ts'
import { environmentKeyRing } from '../kit/key-ring.ts'
import { openLog } from '../kit/log.ts'
import { register as registerAccount } from './account.ts'
import { register as registerAudit } from './audit.ts'
import { welcomeFirst } from './first-start.ts'
import { register as registerKey } from './key.ts'

const keyRing = environmentKeyRing(Buffer.alloc(32, 3).toString('base64'))
const log = openLog({ level: 'silent', format: 'json' })

let database: Database
let folder: string
beforeAll(async () => {
  database = await openTestDatabase()
  folder = await mkdtemp(path.join(tmpdir(), 'waxwing-heads-'))
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})
afterEach(() => {
  vi.restoreAllMocks()
  process.exitCode = undefined
})

/** Runs a command. Returns what was printed, and the exit code. */
async function run(...words: string[]) {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  const { db } = database
  const connect = () =>
    Promise.resolve({
      db,
      keyRing,
      config: { blobDir: folder, s3Bucket: null } as Config,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  for (const register of [registerAccount, registerAudit, registerKey]) register(program, connect)
  for (const command of program.commands.flatMap(one => [one, ...one.commands])) command.exitOverride()
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
  process.exitCode = undefined
  await program.parseAsync(words, { from: 'user' })
  const lines = printed.mock.calls.map(([line]) => String(line))
  printed.mockRestore()
  return { lines, exitCode: process.exitCode ?? 0 }
}

/** The actions and targets of a tenant's rows, oldest first. */
async function actionsOf(tenantId: string) {
  const { rows } = await sql<{ action: string; targets: unknown }>`
    select action, targets from audit_open where tenant_id = ${tenantId} order by id
  `.execute(database.db)
  return rows
}

async function chainAll() {
  const chain = openChain(await requireSealedValue(database.db, keyRing, 'audit_key'))
  await chainOpenRows(database.db, chain, log)
}

/** A tenant with a chain of three rows. */
async function openTenant() {
  const tenant = await sampleTenant(database.db)
  for (let nth = 0; nth < 3; nth += 1) {
    await database.db.transaction().execute(tx =>
      recordOperatorAction(tx, {
        tenantId: tenant.id,
        action: 'plan.assign',
        targets: { tenantId: tenant.id },
      }),
    )
  }
  await chainAll()
  return tenant
}

test('the first start, and changes of keys and accounts by the operator, leave rows', async () => {
  await welcomeFirst({ database, keyRing }, 'http://127.0.0.1', { print: () => {} })
  const tenant = await database.db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const { id: accountId } = await sampleAccount(database.db, tenant.id)
  const made = JSON.parse((await run('key', 'create', '--json')).lines[0] ?? '')
  await run('key', 'revoke', made.id.toUpperCase())
  await run('account', 'pause', accountId)
  await run('account', 'resume', accountId)
  await run('account', 'delete', accountId)
  const first = await database.db
    .selectFrom('api_key')
    .select('id')
    .where('name', '=', 'first key')
    .executeTakeFirstOrThrow()
  expect(await actionsOf(tenant.id)).toEqual([
    { action: 'tenant.create', targets: { tenantId: tenant.id } },
    { action: 'api_key.create', targets: { apiKeyId: first.id } },
    { action: 'api_key.create', targets: { apiKeyId: made.id } },
    { action: 'api_key.revoke', targets: { apiKeyId: made.id } },
    { action: 'account.update', targets: { accountId } },
    { action: 'account.update', targets: { accountId } },
    { action: 'account.delete', targets: { accountId } },
  ])
  const actors = await sql`select distinct actor_type, actor_id, surface, ip from audit_open`.execute(
    database.db,
  )
  expect(actors.rows).toEqual([{ actor_type: 'operator', actor_id: null, surface: 'cli', ip: null }])
})

test('a command that is refused leaves no row', async () => {
  const tenant = await sampleTenant(database.db)
  const { id } = await sampleAccount(database.db, tenant.id, { status: 'paused' })
  await expect(run('account', 'resume', id)).rejects.toThrow('nothing to')
  await expect(run('key', 'revoke', newId())).rejects.toThrow('no key')
  expect(await actionsOf(tenant.id)).toEqual([])
})

test('audit verify prints the head of each log, and fails if a row was changed', async () => {
  const { id, name } = await openTenant()
  const intact = await run('audit', 'verify', '--tenant', name)
  expect(intact).toEqual({
    lines: [expect.stringMatching(/^.*: 3 rows are as they were written\. Head: row 3, [0-9a-f]{64}$/)],
    exitCode: 0,
  })
  const head = intact.lines[0]?.slice(-64) ?? ''
  expect((await run('audit', 'verify', '--head', head.toUpperCase())).exitCode).toBe(0)
  expect(await run('audit', 'verify', '--tenant', name, '--head', '0'.repeat(64))).toMatchObject({
    lines: [expect.anything(), expect.stringContaining('is in no log')],
    exitCode: 2,
  })

  await sql`update audit_entry set ip = '198.51.100.1' where tenant_id = ${id} and position = 2`.execute(
    database.db,
  )
  const changed = await run('audit', 'verify')
  expect(changed.exitCode).toBe(2)
  expect(changed.lines).toContain(`${name}: the log was changed.`)
  expect(changed.lines.some(line => /^ {2}Row 2 \(.{36}\) is not as it was written\.$/.test(line))).toBe(true)
  const json = (await run('audit', 'verify', '--tenant', name, '--json')).lines.map(line => JSON.parse(line))
  expect(json).toMatchObject([
    {
      tenantId: id,
      tenant: name,
      rows: 3,
      waiting: 0,
      head: { position: '3', hash: head },
      count: 1,
      findings: [{ kind: 'changed', position: '2' }],
    },
  ])
})

test('audit verify says how many rows are not chained yet', async () => {
  const { id, name } = await openTenant()
  const row = { tenantId: id, action: 'tenant.resume', targets: { tenantId: id } } as const
  await database.db.transaction().execute(tx => recordOperatorAction(tx, row))
  expect(await run('audit', 'verify', '--tenant', name)).toEqual({
    lines: [
      expect.stringContaining('3 rows are as they were written.'),
      '  Not chained yet: 1. A process with the role jobs does that within seconds.',
    ],
    exitCode: 0,
  })
  await chainAll()
})

test('audit verify refuses an unknown tenant and a malformed head', async () => {
  await expect(run('audit', 'verify', '--tenant', 'nobody')).rejects.toThrow('no tenant')
  await expect(run('audit', 'verify', '--head', 'abc')).rejects.toThrow('64 hexadecimal digits')
})

test('audit verify compares with the heads that were kept on earlier days', async () => {
  const { db } = database
  const { id, name } = await openTenant()
  const early = await db
    .selectFrom('audit_chain')
    .selectAll()
    .where('tenant_id', '=', id)
    .executeTakeFirstOrThrow()
  await db.transaction().execute(async tx => {
    for (let nth = 0; nth < 2; nth += 1)
      await recordOperatorAction(tx, { tenantId: id, action: 'tenant.resume', targets: { tenantId: id } })
  })
  await chainAll()
  const key = await requireSealedValue(db, keyRing, 'audit_key')
  const lines: string[] = []
  const loud = openLog({
    level: 'info',
    format: 'json',
    destination: { write: line => void lines.push(line) },
  })
  const yesterday = Date.now() - 86_400_000
  await keptHeads(key, openBlobStore(openFolderObjects(folder))).keep(db, yesterday, loud)
  const logged = lines.map(line => JSON.parse(line)).find(line => line.tenantId === id)
  expect(logged).toMatchObject({ message: 'Head of an audit log', position: '5' })
  expect(logged.hash).toMatch(/^[0-9a-f]{64}$/)
  expect((await run('audit', 'verify', '--tenant', name)).exitCode).toBe(0)

  // Cut off with all signs of it: the ends are those that were copied before.
  await sql`delete from audit_entry where tenant_id = ${id} and position > 3`.execute(db)
  await db.updateTable('audit_chain').set(early).where('tenant_id', '=', id).execute()
  const { lines: printed, exitCode } = await run('audit', 'verify', '--tenant', name)
  const day = new Date(yesterday).toISOString().slice(0, 10)
  expect(exitCode).toBe(2)
  const missing = `${name}: the head of ${day} is not in the log, so rows up to it were removed or replaced.`
  expect(printed.slice(1)).toEqual([missing])

  // A later file does not keep it from being found.
  const today = new Date().toISOString().slice(0, 10)
  await writeFile(path.join(folder, 'ad', today), 'damaged')
  const unreadable = await run('audit', 'verify', '--tenant', name)
  expect(unreadable.exitCode).toBe(2)
  expect(unreadable.lines.slice(1)).toEqual([
    `The file with the heads of ${today} is damaged or cannot be read, so nothing was compared with it.`,
    missing,
  ])
  const json = await run('audit', 'verify', '--tenant', name, '--json')
  expect(json.lines).toContain(JSON.stringify({ unreadableHeads: { day: today } }))
})

test('the heads of a day can be read only with the key, and are removed after 400 days', async () => {
  const { db } = database
  await openTenant()
  const key = await requireSealedValue(db, keyRing, 'audit_key')
  const heads = keptHeads(key, openBlobStore(openFolderObjects(folder)))
  const now = Date.UTC(2030, 5, 1)
  const days = async () => (await readdir(path.join(folder, 'ad'))).filter(day => day >= '2029')
  await heads.keep(db, now - 401 * 86_400_000, log)
  await heads.keep(db, now - 400 * 86_400_000, log)
  const { head_hash: hash } = await db
    .selectFrom('audit_chain')
    .select('head_hash')
    .limit(1)
    .executeTakeFirstOrThrow()
  const file = await readFile(path.join(folder, 'ad', (await days())[0] ?? ''))
  expect(file.includes(hash) || file.includes(hash.toString('hex'))).toBe(false)
  await heads.keep(db, now, log)
  expect(await days()).toEqual(['2029-04-27', '2030-06-01'])
  const other = keptHeads(Buffer.alloc(32), openBlobStore(openFolderObjects(folder)))
  expect((await other.compare(db, now).next()).value).toEqual({ kind: 'unreadable', day: '2030-06-01' })
})
