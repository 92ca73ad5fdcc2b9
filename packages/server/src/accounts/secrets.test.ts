/** @module-tag postgres-16 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../../test/database-text.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { checkKeyRing, requireSealedValue } from '../database/sealed-value.ts'
import type { Db } from '../database/pool.ts'
import { KeyRingError, environmentKeyRing } from '../kit/key-ring.ts'
import { SealError } from '../kit/seal.ts'
import { Secret } from '../kit/secret.ts'
import { type AccountKeys, accountKeys } from './secrets.ts'

const newKey = () => randomBytes(32).toString('base64')

async function accountWithSecret(db: Db, keys: AccountKeys, secret: string) {
  const tenant = await sampleTenant(db)
  const { id } = await sampleAccount(db, tenant.id)
  return db.transaction().execute(async tx => {
    const data_key = await keys.createDataKey(tx, { id, tenant_id: tenant.id })
    await tx.updateTable('account').set({ data_key }).where('id', '=', id).execute()
    const account = { id, tenant_id: tenant.id, data_key }
    await keys.storeSecret(tx, account, 'imap_password', new Secret(secret))
    return account
  })
}

describe('accountKeys', () => {
  test('returns the last stored value, and null if there is none', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const keys = accountKeys(environmentKeyRing(newKey()))
    const account = await accountWithSecret(db, keys, 'first')

    expect((await keys.findSecret(db, account, 'imap_password'))?.reveal()).toBe('first')
    expect(await keys.findSecret(db, account, 'smtp_password')).toBeNull()
    await db
      .transaction()
      .execute(tx => keys.storeSecret(tx, account, 'imap_password', new Secret('zweites')))
    expect((await keys.findSecret(db, account, 'imap_password'))?.reveal()).toBe('zweites')
  })

  test('leaves no plaintext in the database', async () => {
    await using database = await openTestDatabase()
    await accountWithSecret(database.db, accountKeys(environmentKeyRing(newKey())), 'canary-in-the-mine')

    expect(await tablesWith(database.db, 'canary-in-the-mine')).toEqual([])
  })

  test('does not open a value that was moved to another account, name or data key', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const keys = accountKeys(environmentKeyRing(newKey()))
    const [ada, bob] = [
      await accountWithSecret(db, keys, 'of ada'),
      await accountWithSecret(db, keys, 'of bob'),
    ]

    await sql`
      update account_secret set sealed = other.sealed from account_secret as other
      where account_secret.account_id <> other.account_id
    `.execute(db)
    await expect(keys.findSecret(db, ada, 'imap_password')).rejects.toThrow(SealError)
    await expect(keys.findSecret(db, bob, 'imap_password')).rejects.toThrow(SealError)
    const withKeyOfBob = { ...ada, data_key: bob.data_key }
    await expect(keys.findSecret(db, withKeyOfBob, 'imap_password')).rejects.toThrow(SealError)

    const eve = await accountWithSecret(db, keys, 'of eve')
    await db
      .updateTable('account_secret')
      .set({ name: 'smtp_password' })
      .where('account_id', '=', eve.id)
      .execute()
    await expect(keys.findSecret(db, eve, 'smtp_password')).rejects.toThrow(SealError)
  })
})

describe('checkKeyRing', () => {
  test('refuses another key with an explanation, and writes nothing', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const right = environmentKeyRing(newKey())
    await requireSealedValue(db, right, 'cursor_key')
    const before = await db.selectFrom('sealed_value').selectAll().execute()

    const refusal = checkKeyRing(db, environmentKeyRing(newKey()))

    await expect(refusal).rejects.toThrow(KeyRingError)
    await expect(refusal).rejects.toThrow(/does not fit this database.*WAXWING_SECRET_KEY/)
    expect(await db.selectFrom('sealed_value').selectAll().execute()).toEqual(before)
    await checkKeyRing(db, right)
  })

  test('refuses a ring that lacks a key which accounts still need, and names it', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const [old, current] = [newKey(), newKey()]
    await accountWithSecret(db, accountKeys(environmentKeyRing(old)), 'secret')
    await requireSealedValue(db, environmentKeyRing(current), 'cursor_key')

    const { message } = await checkKeyRing(db, environmentKeyRing(current)).then(
      () => new Error('accepted'),
      (error: Error) => error,
    )

    expect(message).toContain(environmentKeyRing(old).currentId())
    await checkKeyRing(db, environmentKeyRing(`${current},${old}`))
  })

  test('accepts any ring for a database without a schema', async () => {
    await using database = await openTestDatabase({ migrated: false })
    await checkKeyRing(database.db, environmentKeyRing(newKey()))
  })
})

describe('requireSealedValue', () => {
  test('returns the same value to simultaneous first callers', async () => {
    await using database = await openTestDatabase()
    const ring = environmentKeyRing(newKey())

    const values = await Promise.all(
      Array.from({ length: 8 }, () => requireSealedValue(database.db, ring, 'cursor_key')),
    )

    const [value = Buffer.alloc(0)] = values
    expect(new Set(values.map(other => other.toString('hex'))).size).toBe(1)
    expect(value).toHaveLength(32)
    expect(await tablesWith(database.db, value)).toEqual([])
  })
})
