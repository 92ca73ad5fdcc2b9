import { type Kysely, type Transaction, sql } from 'kysely'
import { closeKeyRing, rewrapSealedValues } from '../database/sealed-value.ts'
import type { Tables } from '../database/tables.ts'
import { type KeyRing, KeyRingError } from '../kit/key-ring.ts'
import { dataKeyContext } from './secrets.ts'

/** Accounts per transaction. Few, because their syncs wait for its end. */
const ROTATION_BATCH_ROWS = 200

export interface Rotation {
  dataKeys: number
  sealedValues: number
}

/**
 * Seals everything again under the current key of the key ring, while the service runs. An interrupted rotation
 * continues where it ended, since values under the current key are left alone. When this returns, nothing needs the
 * other keys any more.
 */
export async function rotateKeyRing(db: Kysely<Tables>, ring: KeyRing): Promise<Rotation> {
  const online = await rewrapAll(run => db.transaction().execute(run), ring, 'skip locked')
  return db.transaction().execute(async tx => {
    await closeKeyRing(tx)
    // The rest: rows that a sync held meanwhile, and rows of transactions that sealed before the current key was
    // current.
    const rest = await rewrapAll(run => run(tx), ring, 'wait')
    return { dataKeys: online + rest, sealedValues: await rewrapSealedValues(tx, ring) }
  })
}

async function rewrapAll(
  inTransaction: (run: (tx: Transaction<Tables>) => Promise<Batch>) => Promise<Batch>,
  ring: KeyRing,
  locked: 'skip locked' | 'wait',
): Promise<number> {
  let total = 0
  let afterId: string | null = '00000000-0000-0000-0000-000000000000'
  while (afterId !== null) {
    const from: string = afterId
    const { count, lastId } = await inTransaction(tx => rewrapBatch(tx, ring, from, locked))
    total += count
    afterId = lastId
  }
  return total
}

interface Batch {
  count: number
  /** Null if this was the last batch. */
  lastId: string | null
}

async function rewrapBatch(
  tx: Transaction<Tables>,
  ring: KeyRing,
  afterId: string,
  locked: 'skip locked' | 'wait',
): Promise<Batch> {
  const current = Buffer.from(ring.currentId(), 'hex')
  const { rows } = await sql<{ id: string; tenant_id: string; data_key: Buffer }>`
    select id, tenant_id, data_key from account
    where id > ${afterId} and data_key is not null and substring(data_key from 1 for 8) <> ${current}
    order by id limit ${ROTATION_BATCH_ROWS}
    for no key update ${locked === 'wait' ? sql`` : sql`skip locked`}
  `.execute(tx)
  const rewrapped = rows.map(row => {
    const context = dataKeyContext(row)
    try {
      return ring.seal(ring.open(row.data_key, context), context)
    } catch (cause) {
      throw new KeyRingError(`The data key of account ${row.id} does not open; nothing was retired`, {
        cause,
      })
    }
  })
  await sql`
    update account set data_key = rewrapped.data_key
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${rewrapped}::bytea[]) as rewrapped (id, data_key)
    where account.id = rewrapped.id
  `.execute(tx)
  return { count: rows.length, lastId: rows.at(-1)?.id ?? null }
}
