import { randomBytes } from 'node:crypto'
import { type Transaction, sql } from 'kysely'
import { type KeyRing, KeyRingError } from '../kit/key-ring.ts'
import { SealError } from '../kit/seal.ts'
import type { Db } from './pool.ts'
import type { Tables } from './tables.ts'

/** First key of the two-key advisory locks of the key ring. */
const KEY_RING_LOCK_CLASS = 0x57_41_59
const KEY_RING_IN_USE = 0

/** The names in `sealed_value`: random bytes that the installation needs unchanged at every start. */
export type SealedValueName =
  | 'credential_pepper'
  | 'audit_key'
  | 'cursor_key'
  | 'answer_key'
  | 'link_key'
  | 'webhook_key'
  | 'oauth_app_key'
  | 'revocation_key'
  | 'limit_key'
  | 'push_key'

const VALUE_BYTES = 32

/**
 * Must be called in a transaction before it seals a value for a row. The end of a rotation then waits for the commit,
 * so that no row stays sealed with a key that is about to be retired.
 */
export async function holdKeyRing(tx: Transaction<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${KEY_RING_LOCK_CLASS}::int, ${KEY_RING_IN_USE}::int)`.execute(
    tx,
  )
}

/** Waits for every `holdKeyRing` to end, and makes new ones wait until the transaction ends. */
export async function closeKeyRing(tx: Transaction<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${KEY_RING_LOCK_CLASS}::int, ${KEY_RING_IN_USE}::int)`.execute(tx)
}

/**
 * Refuses with `KeyRingError`, without writing, a key ring that does not fit the database. A database without a
 * schema fits every ring. Must be called before the migrations.
 */
export async function checkKeyRing(db: Db, ring: KeyRing): Promise<void> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regclass('sealed_value') is not null and to_regclass('account') is not null as exists`.execute(
    db,
  )
  if (!rows[0]?.exists) return

  const values = await db.selectFrom('sealed_value').select(['name', 'sealed']).execute()
  const used = await sql<{ id: string }>`
    select distinct encode(substring(data_key from 1 for 8), 'hex') as id from account where data_key is not null
  `.execute(db)
  requireFittingRing(ring, { values, keyIds: used.rows.map(({ id }) => id), of: 'this database' })
}

/** The evidence that a key ring is the right one: sealed values, and the ids of the keys that accounts need. */
export interface Sealed {
  values: ReadonlyArray<{ name: string; sealed: Buffer }>
  keyIds: readonly string[]
  /** Their place, in words for people. */
  of: string
}

/** Throws `KeyRingError` if the ring does not open everything. */
export function requireFittingRing(ring: KeyRing, { values, keyIds, of }: Sealed): void {
  const where = ring.source === 'file' ? 'the file secret.key of the data folder' : 'WAXWING_SECRET_KEY'
  const remedy = `Put the right key in ${where}: start with the one that ${of} was used with.`
  for (const { name, sealed } of values) {
    try {
      ring.open(sealed, contextOf(name))
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      throw new KeyRingError(`The key ring does not fit ${of}. ${error.message}. ${remedy}`)
    }
  }
  const missing = keyIds.filter(id => !ring.ids().includes(id))
  if (missing.length > 0) {
    throw new KeyRingError(
      `Accounts of ${of} are sealed with keys that the key ring lacks: ${missing.join(', ')}. ${remedy}`,
    )
  }
}

/** Whether anything has been sealed with a key ring. */
export async function hasSealedValues(db: Db): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regclass('sealed_value') is not null as exists`.execute(db)
  if (!rows[0]?.exists) return false
  return (await db.selectFrom('sealed_value').select('name').limit(1).execute()).length > 0
}

/**
 * The installation's value of that name, created at the first call. `checkKeyRing` verifies the key ring by these
 * values.
 */
export async function requireSealedValue(db: Db, ring: KeyRing, name: SealedValueName): Promise<Buffer> {
  return db.transaction().execute(async tx => {
    await holdKeyRing(tx)
    await tx
      .insertInto('sealed_value')
      .values({ name, sealed: ring.seal(randomBytes(VALUE_BYTES), contextOf(name)) })
      .onConflict(target => target.column('name').doNothing())
      .execute()
    const { sealed } = await tx
      .selectFrom('sealed_value')
      .select('sealed')
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
    return ring.open(sealed, contextOf(name))
  })
}

/** Seals the values again that are not under the current key. Returns their number. */
export async function rewrapSealedValues(tx: Transaction<Tables>, ring: KeyRing): Promise<number> {
  const current = Buffer.from(ring.currentId(), 'hex')
  const old = await tx
    .selectFrom('sealed_value')
    .select(['name', 'sealed'])
    .where(sql<boolean>`substring(sealed from 1 for 8) <> ${current}`)
    .orderBy('name')
    .forUpdate()
    .execute()
  for (const { name, sealed } of old) {
    const context = contextOf(name)
    await tx
      .updateTable('sealed_value')
      .set({ sealed: ring.seal(ring.open(sealed, context), context) })
      .where('name', '=', name)
      .execute()
  }
  return old.length
}

function contextOf(name: string): string[] {
  return ['', 'sealed_value', 'sealed', name]
}
