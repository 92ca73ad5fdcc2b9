import { createHmac, createSecretKey } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { BlobStore } from '../../../kit/blobs/blob-store.ts'
import { ObjectMissing } from '../../../kit/blobs/object-store.ts'
import type { Sealing } from '../../../kit/blobs/sealed-frames.ts'
import type { Logger } from '../../../kit/log.ts'
import { KEPT_DAYS } from './trim-chains.ts'

/** Names of blobs are hexadecimal; this one stands for "audit". */
const FOLDER = 'ad'
const DAY_MILLISECONDS = 86_400_000
/** Files that one run removes: more than one, in case some days had no run. */
const REMOVED_DAYS = 30

interface Head {
  tenantId: string
  position: string
  /** In hexadecimal. */
  hash: string
}

/** A head that was kept, but is not in the log of its tenant. */
export interface MissingHead extends Head {
  /** In UTC, such as 2026-01-31. */
  day: string
}

/** A finding of a comparison with the kept heads: a missing head, or a day whose file cannot be read. */
export type HeadFinding = ({ kind: 'missing' } & MissingHead) | { kind: 'unreadable'; day: string }

/** The heads of the chains outside the database, against which a cut-off end shows. */
export interface KeptHeads {
  /**
   * Writes the heads of today to the log and the blob store, and removes heads that are older than the rows themselves.
   */
  keep(db: Db, now: number, log: Logger): Promise<void>
  /** Compares the kept heads with the log, day by day, the latest first. A day without a file is passed over. */
  compare(db: Db, now: number): AsyncGenerator<HeadFinding>
}

/** @param auditKey the key of the chains, from which the key of the files is derived */
export function keptHeads(auditKey: Buffer, blobs: BlobStore): KeptHeads {
  const key = createSecretKey(createHmac('sha256', auditKey).update('heads').digest())
  const sealingOf = (day: string): Sealing => ({ key, context: ['audit heads', day] })
  const nameOf = (day: string) => `${FOLDER}/${day}`

  /** The heads of a day; none if there is no file. Throws if the file is not as it was written. */
  async function read(day: string): Promise<Head[]> {
    const pieces: Buffer[] = []
    try {
      for await (const piece of blobs.read(nameOf(day), sealingOf(day))) pieces.push(piece)
    } catch (error) {
      if (error instanceof ObjectMissing) return []
      throw error
    }
    // Written by `keep`, and authenticated.
    return JSON.parse(Buffer.concat(pieces).toString()) as Head[]
  }

  return {
    async keep(db, now, log) {
      const heads = await readHeads(db)
      for (const head of heads) log.info({ ...head }, 'Head of an audit log')
      const today = dayBefore(now, 0)
      await blobs.put(nameOf(today), sealingOf(today), Buffer.from(JSON.stringify(heads)))
      for (let past = 1; past <= REMOVED_DAYS; past += 1)
        await blobs.remove(nameOf(dayBefore(now, KEPT_DAYS + past)))
    },
    async *compare(db, now) {
      for (let days = 0; days < KEPT_DAYS; days += 1) {
        const day = dayBefore(now, days)
        const heads = await read(day).catch(() => null)
        if (heads === null) yield { kind: 'unreadable', day }
        else if (heads.length > 0)
          for (const missing of await findReplaced(db, heads)) yield { kind: 'missing', ...missing, day }
      }
    },
  }
}

function dayBefore(now: number, days: number): string {
  return new Date(now - days * DAY_MILLISECONDS).toISOString().slice(0, 10)
}

async function readHeads(db: Db): Promise<Head[]> {
  const { rows } = await sql<Head>`
    select tenant_id as "tenantId", head_position as position, encode(head_hash, 'hex') as hash
    from audit_chain where head_position > 0 order by tenant_id
  `.execute(db)
  return rows
}

/**
 * The heads at whose positions there is another row or none. Rows that were removed because of their age do not count.
 */
async function findReplaced(db: Db, heads: readonly Head[]): Promise<Head[]> {
  const { rows } = await sql<Head>`
    select head."tenantId", head.position, head.hash
    from json_to_recordset(${JSON.stringify(heads)}::json) as head ("tenantId" uuid, position bigint, hash text)
    left join audit_entry as entry on entry.tenant_id = head."tenantId" and entry.position = head.position
    left join audit_chain as chain on chain.tenant_id = head."tenantId"
    where coalesce(encode(entry.hash, 'hex'), '') <> head.hash and coalesce(chain.base_position, 0) < head.position
    order by 1
  `.execute(db)
  return rows
}
