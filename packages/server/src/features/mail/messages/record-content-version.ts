import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** Gives messages that have new content under the same id another ETag. */
export async function countContents(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update message set content_version = content_version + 1 where id = any(${[...ids]}::uuid[])
  `.execute(unit.sql)
}
