import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from '../../../../test/property.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import type { Db } from '../../../database/pool.ts'
import { SharedConnections } from '../../../connections/shared-connections.ts'
import { openBlobStore } from '../../../kit/blobs/blob-store.ts'
import { openFolderObjects } from '../../../kit/blobs/folder-objects.ts'
import { newId } from '../../../kit/ids.ts'
import { environmentKeyRing } from '../../../kit/key-ring.ts'
import { openLog } from '../../../kit/log.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { accountKeys } from '../../../accounts/secrets.ts'
import { NO_LIMITS } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { purgeBlobs, sweepBlobs } from './record-blobs.ts'
import { keepCopy, type SourceContext } from './stored-source.ts'

const NEVER = new AbortController().signal
const PARALLEL = 100

/** Opens accounts with messages to store, and counts the bytes on the disk and in the tables. */
async function openStorage(accountCount: number, messagesEach: number) {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-stored-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const blobs = openBlobStore(openFolderObjects(folder))
  const keys = accountKeys(environmentKeyRing(randomBytes(32).toString('base64')))
  const log = openLog({ level: 'error', format: 'json' })
  const { id: tenantId } = await sampleTenant(db)
  const accounts: { row: AccountRow; messages: string[] }[] = []
  for (let nth = 0; nth < accountCount; nth += 1) {
    const account = await sampleAccount(db, tenantId)
    const data_key = await db
      .transaction()
      .execute(tx => keys.createDataKey(tx, { id: account.id, tenant_id: tenantId }))
    const row = await db
      .updateTable('account')
      .set({ data_key })
      .where('id', '=', account.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    const mailbox = await sampleMailbox(db, account)
    const messages: string[] = []
    for (let one = 0; one < messagesEach; one += 1)
      messages.push(await sampleMessageIn(db, account, mailbox.id))
    // The JSON columns have the types of their only writers.
    accounts.push({ row: row as AccountRow, messages })
  }
  const owned = opened.move()
  const context: SourceContext = {
    db,
    blobs,
    accountKeys: keys,
    log,
    bodies: { wake() {} },
    wakeSync() {},
    // Storing needs no provider.
    connections: new SharedConnections({
      connectorOf: () => () => Promise.reject(new Error('no provider')),
      endpointOf: () => 'imap',
    }),
  }
  return {
    db,
    blobs,
    tenantId,
    accounts,
    context,
    countFiles: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile())
        .length,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
type Storage = Awaited<ReturnType<typeof openStorage>>

/** Reads an incompressible message of this many bytes, and stores it on the way. */
async function store(storage: Storage, account: AccountRow, messageId: string, size: number, told = size) {
  async function* content() {
    yield randomBytes(size)
    return size >= told
  }
  for await (const piece of keepCopy(storage.context, account, { id: messageId, size: told }, content()))
    void piece
}

async function readCounts(db: Db, tenantId: string) {
  const { rows } = await sql<{ counted: number; sum: number; rows: number }>`
    select coalesce((select bytes from tenant_storage where tenant_id = ${tenantId}), 0)::float8 as counted,
      coalesce(sum(bytes), 0)::float8 as sum, count(*)::int as rows
    from message_blob where tenant_id = ${tenantId}
  `.execute(db)
  return rows[0]!
}

async function limitStorage({ db, tenantId }: Storage, storageBytes: number | null) {
  const plan = await createPlan(db, newId(), { ...NO_LIMITS, storageBytes })
  await db.updateTable('tenant').set({ plan_id: plan!.id }).where('id', '=', tenantId).execute()
}

interface Act {
  what: string
  account: number
  message: number
  size: number
}

const act: fc.Arbitrary<Act> = fc.record({
  what: fc.constantFrom('store', 'store', 'store', 'cut', 'leave', 'delete', 'lose', 'sweep', 'purge'),
  account: fc.nat(1),
  message: fc.nat(7),
  size: fc.integer({ min: 1, max: 5000 }),
})

/** Performs one action that changes the stored bodies. */
async function perform(storage: Storage, { what, account, message, size }: Act) {
  const { db, blobs } = storage
  const { row, messages } = storage.accounts[account]!
  const id = messages[message]!
  if (what === 'store') return store(storage, row, id, size)
  if (what === 'cut') return store(storage, row, id, size, size + 1)
  if (what === 'leave') {
    const never = async function* () {
      yield randomBytes(size)
      throw new Error('The caller left')
    }
    const copy = keepCopy(storage.context, row, { id, size }, never())
    return copy.next().then(() => copy.return(undefined))
  }
  if (what === 'lose') {
    await db.updateTable('message_blob').set({ message_id: null }).where('message_id', '=', id).execute()
    return
  }
  if (what === 'delete') {
    await db.transaction().execute(async tx => {
      await sql`delete from message_mailbox where message_id = ${id}`.execute(tx)
      await tx.deleteFrom('message').where('id', '=', id).execute()
    })
    return
  }
  if (what === 'sweep') return sweepBlobs(db, blobs, NEVER)
  return purgeBlobs(db, blobs, row.id, NEVER)
}

describe('the counted size of stored bodies', () => {
  test('is the sum of the files, while messages are stored, aborted, deleted and purged at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(act, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 5 }),
        async rounds => {
          await using storage = await openStorage(2, 8)
          const { db, tenantId } = storage
          await limitStorage(storage, 20_000)
          for (const acts of rounds) {
            await Promise.all(acts.map(one => perform(storage, one)))
            const { counted, sum } = await readCounts(db, tenantId)
            expect(counted).toBe(sum)
            expect(counted).toBeLessThanOrEqual(20_000)
          }
          await sweepBlobs(db, storage.blobs, NEVER)
          expect(await storage.countFiles()).toBe((await readCounts(db, tenantId)).rows)
          for (const { row } of storage.accounts) await purgeBlobs(db, storage.blobs, row.id, NEVER)
          expect(await readCounts(db, tenantId)).toEqual({ counted: 0, sum: 0, rows: 0 })
          expect(await storage.countFiles()).toBe(0)
        },
      ),
      { numRuns: 15, endOnFailure: true },
    )
  })

  test(`stays within the plan when ${PARALLEL} messages come at once, and uses the room`, async () => {
    await using storage = await openStorage(1, PARALLEL)
    const { db, tenantId } = storage
    const { row, messages } = storage.accounts[0]!
    await store(storage, row, messages[0]!, 1000)
    const each = (await readCounts(db, tenantId)).counted
    await limitStorage(storage, each * 7)

    await Promise.all(messages.slice(1).map(id => store(storage, row, id, 1000)))

    expect(await readCounts(db, tenantId)).toEqual({ counted: each * 7, sum: each * 7, rows: 7 })
    expect(await storage.countFiles()).toBe(7)
  })
})
