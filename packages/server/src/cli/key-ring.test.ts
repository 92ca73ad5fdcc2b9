import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { readConfig } from '../config.ts'
import type { Database, Db } from '../database/pool.ts'
import { checkKeyRing, requireSealedValue } from '../database/sealed-value.ts'
import { type AccountKeys, type KeyedAccount, accountKeys } from '../accounts/secrets.ts'
import { type KeyRing, environmentKeyRing, keyIdOf } from '../kit/key-ring.ts'
import { addKey, fileKeyRing, readKeys } from '../kit/key-ring-file.ts'
import { Secret } from '../kit/secret.ts'
import { register } from './key-ring.ts'

let folder: string
let database: Database
let tenantId: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'waxwing-rotation-'))
  database = await openTestDatabase()
  tenantId = (await sampleTenant(database.db)).id
})
afterEach(async () => {
  await database[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
  vi.restoreAllMocks()
})

/** Runs a command of the key ring beside a service, with a ring of its own. Returns what it printed. */
async function run(
  command: string[],
  keyRing: KeyRing = fileKeyRing(folder, { mayCreate: false }),
): Promise<string> {
  const lines: string[] = []
  vi.spyOn(console, 'log').mockImplementation(line => void lines.push(String(line)))
  const program = new Command()
  register(program, async () => ({
    db: database.db,
    keyRing,
    config: { ...readConfig({}, { isRoot: false, isTerminal: false }), dataDir: folder },
    [Symbol.asyncDispose]: async () => {},
  }))
  await program.parseAsync(['key-ring', ...command], { from: 'user' })
  return lines.join('\n')
}

async function addAccount(db: Db, keys: AccountKeys): Promise<KeyedAccount> {
  const { id } = await sampleAccount(db, tenantId)
  return db.transaction().execute(async tx => {
    const data_key = await keys.createDataKey(tx, { id, tenant_id: tenantId })
    await tx.updateTable('account').set({ data_key }).where('id', '=', id).execute()
    const account = { id, tenant_id: tenantId, data_key }
    await keys.storeSecret(tx, account, 'imap_password', new Secret(id))
    return account
  })
}

/** Reads an account's secret as the service does: the row first. */
async function readSecret(db: Db, keys: AccountKeys, id: string): Promise<string | undefined> {
  const account = await db
    .selectFrom('account')
    .select(['id', 'tenant_id', 'data_key'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return (await keys.findSecret(db, account, 'imap_password'))?.reveal()
}

async function usedKeyIds(): Promise<string[]> {
  const accounts = await database.db.selectFrom('account').select('data_key').execute()
  const values = await database.db.selectFrom('sealed_value').select('sealed').execute()
  const sealed = [...accounts.map(row => row.data_key ?? Buffer.alloc(8)), ...values.map(row => row.sealed)]
  return [...new Set(sealed.map(keyIdOf))]
}

describe('waxwing key-ring rotate', () => {
  test('changes the key in the file under load, without a failed read', async () => {
    const { db } = database
    const service = fileKeyRing(folder, { mayCreate: true })
    const keys = accountKeys(service)
    const cursorKey = await requireSealedValue(db, service, 'cursor_key')
    const oldId = service.currentId()
    const ids: string[] = []
    for (let at = 0; at < 450; at += 1) ids.push((await addAccount(db, keys)).id)

    const rotated = new AbortController()
    let reads = 0
    const reader = async () => {
      while (!rotated.signal.aborted) {
        const id = ids[Math.floor(Math.random() * ids.length)] ?? ''
        expect(await readSecret(db, keys, id)).toBe(id)
        reads += 1
      }
    }
    const writer = async () => {
      while (!rotated.signal.aborted) ids.push((await addAccount(db, keys)).id)
    }
    const load = Promise.all([reader(), reader(), reader(), writer(), writer()])
    const printed = await run(['rotate']).finally(() => rotated.abort())
    await load

    const started = fileKeyRing(folder, { mayCreate: false })
    expect(reads).toBeGreaterThan(0)
    expect(ids.length).toBeGreaterThan(450)
    expect(started.ids()).toHaveLength(1)
    expect(started.ids()).not.toContain(oldId)
    expect(await usedKeyIds()).toEqual(started.ids())
    await checkKeyRing(db, started)
    for (const id of ids) expect(await readSecret(db, accountKeys(started), id)).toBe(id)
    expect(await requireSealedValue(db, started, 'cursor_key')).toEqual(cursorKey)
    expect(printed).toContain(`with ${started.currentId()}`)
    expect(printed).toContain(`Moved ${oldId} to secret.key.retired`)
    expect(readFileSync(join(folder, 'secret.key.retired'), 'utf8')).toContain(oldId)
  })

  test('also wraps a row again that was sealed before the rotation and commits during it', async () => {
    const { db } = database
    const keys = accountKeys(fileKeyRing(folder, { mayCreate: true }))
    const { id } = await sampleAccount(db, tenantId)
    const sealed = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const inserting = db.transaction().execute(async tx => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
      const data_key = await keys.createDataKey(tx, { id, tenant_id: tenantId })
      await tx.updateTable('account').set({ data_key }).where('id', '=', id).execute()
      await keys.storeSecret(tx, { id, tenant_id: tenantId, data_key }, 'imap_password', new Secret(id))
      sealed.resolve()
      await mayCommit.promise
    })
    await sealed.promise

    const rotation = run(['rotate'])
    await expect.poll(() => readKeys(folder).length).toBe(2)
    mayCommit.resolve()
    await Promise.all([inserting, rotation])

    const started = fileKeyRing(folder, { mayCreate: false })
    expect(await usedKeyIds()).toEqual(started.ids())
    expect(await readSecret(db, accountKeys(started), id)).toBe(id)
  })

  test('finishes a rotation that was interrupted', async () => {
    const keys = accountKeys(fileKeyRing(folder, { mayCreate: true }))
    const { id } = await addAccount(database.db, keys)
    const newId = addKey(folder)

    const printed = await run(['rotate'])

    expect(printed).toContain('Finishing an interrupted rotation')
    const started = fileKeyRing(folder, { mayCreate: false })
    expect(started.ids()).toEqual([newId])
    expect(await readSecret(database.db, accountKeys(started), id)).toBe(id)
  })

  test('retires no key while an account does not open', async () => {
    const service = fileKeyRing(folder, { mayCreate: true })
    const { id } = await addAccount(database.db, accountKeys(service))
    const broken = await addAccount(database.db, accountKeys(service))
    const data_key = Buffer.concat([Buffer.from(service.currentId(), 'hex'), randomBytes(61)])
    await database.db.updateTable('account').set({ data_key }).where('id', '=', broken.id).execute()

    await expect(run(['rotate'])).rejects.toThrow(`account ${broken.id} does not open`)

    const started = fileKeyRing(folder, { mayCreate: false })
    expect(started.ids()).toHaveLength(2)
    expect(await readSecret(database.db, accountKeys(started), id)).toBe(id)
  })

  test('seals with the first key of WAXWING_SECRET_KEY, and says which key can be removed', async () => {
    const [old, current] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
    const { id } = await addAccount(database.db, accountKeys(environmentKeyRing(old)))

    const printed = await run(['rotate'], environmentKeyRing(`${current},${old}`))

    expect(printed).toContain(`The database no longer needs ${environmentKeyRing(old).currentId()}`)
    expect(await readSecret(database.db, accountKeys(environmentKeyRing(current)), id)).toBe(id)
    expect(await run(['rotate'], environmentKeyRing(current))).toContain('holds one key only')
  })

  test('does not run twice at the same time', async () => {
    fileKeyRing(folder, { mayCreate: true })
    const answers = await Promise.allSettled([run(['rotate']), run(['rotate']), run(['rotate'])])

    const refused = answers.filter(answer => answer.status === 'rejected')
    for (const { reason } of refused) expect(String(reason)).toContain('Another rotation is running')
    expect(refused.length).toBeLessThan(3)
    expect(readKeys(folder)).toHaveLength(1)
  })
})

describe('waxwing key-ring list', () => {
  test('lists ids and no keys, the current one first', async () => {
    const ring = fileKeyRing(folder, { mayCreate: true })
    const oldId = ring.currentId()
    const newId = addKey(folder)

    expect(await run(['list'])).toBe(`${newId}  current\n${oldId}`)
    expect(JSON.parse(await run(['list', '--json']))).toEqual({ source: 'file', keys: [newId, oldId] })
  })
})
