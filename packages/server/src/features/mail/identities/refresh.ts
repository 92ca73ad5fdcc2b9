import { sql } from 'kysely'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { OfferedIdentity } from '../../../providers/identities.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { lockHalf } from '../../../accounts/halves/lock.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import { recordAsked, recordOffered } from './record-offered.ts'

/** Dependencies of reading the provider's addresses. */
export interface RefreshServices {
  db: Db
  connections: Connections
}

type Refreshed = Pick<AccountRow, 'id' | 'tenant_id' | 'stamp' | 'provider' | 'status'>

/**
 * Reads the addresses that the provider offers, if the stored ones are a day old. If the provider cannot be reached,
 * the stored ones stay.
 * @param isWanted whether fresh ones are read again as well, at most once a minute
 * @returns whether they were read
 */
export async function refreshIdentities(
  { db, connections }: RefreshServices,
  account: Refreshed,
  { isWanted = false } = {},
): Promise<boolean> {
  if (!abilitiesOf(account.provider).offersAddresses || account.status !== 'active') return false
  if (!isWanted && (await hasFresh(db, account.id))) return false
  const isDue = await inTransaction(db, account.tenant_id, async unit => {
    const held = await lockHalf(unit, account.id, 'mail')
    return held !== null && (await recordAsked(unit, account.id, { isWanted }))
  })
  if (!isDue) return false
  const offered = await ask(connections, account)
  if (offered === null) return false
  await inTransaction(db, account.tenant_id, async unit => {
    const held = await lockHalf(unit, account.id, 'mail')
    if (held) await recordOffered(unit, held, offered)
  })
  return true
}

/** Null if the provider cannot be reached now. An account that may not read them has only its own. */
async function ask(connections: Connections, account: Refreshed): Promise<OfferedIdentity[] | null> {
  try {
    return await connections.use(reachedAs(account), 'identities', provider => provider.list(), {
      isRepeatable: true,
    })
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    return error.kind === 'scope_missing' ? [] : null
  }
}

async function hasFresh(db: Db, accountId: string): Promise<boolean> {
  const { rows } = await sql`
    select from mail_settings
    where account_id = ${accountId} and identities_read_at > clock_timestamp() - make_interval(hours => 24)
  `.execute(db)
  return rows.length > 0
}
