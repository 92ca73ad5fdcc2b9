import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'

const EARLIER = sql`interval '61 minutes'`

/** Makes the access tokens of all grants old enough to be replaced, as if they had expired long after they were issued. */
export async function ageGrants(db: Db): Promise<void> {
  await sql`
    update oauth_grant set issued_at = issued_at - ${EARLIER}, expires_at = expires_at - ${EARLIER},
      refresh_at = refresh_at - ${EARLIER}, retry_at = retry_at - ${EARLIER}
  `.execute(db)
}
