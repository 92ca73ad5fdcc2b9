import { sql } from 'kysely'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { SEARCH_VERSION } from '../../kit/search-text/version.ts'
import { FOLLOWED_KINDS } from './kind.ts'

/** Inserts the halves of a new account. It has no messages yet, and the sync writes their documents. */
export async function insertHalves(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into account_half (account_id, tenant_id, kind, search_version)
    select ${accountId}, ${unit.tenantId}, kind, ${SEARCH_VERSION} from unnest(${[...FOLLOWED_KINDS]}::text[]) as kind
  `.execute(unit.sql)
}

/** Deletes the halves of an account that is purged. A process that still holds one can no longer write. */
export async function deleteHalves(unit: UnitOfWork, accountId: string): Promise<void> {
  await unit.sql.deleteFrom('account_half').where('account_id', '=', accountId).execute()
}
