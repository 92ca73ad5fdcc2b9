import type { Signature } from '@waxwing/contract/mail/identities.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'

/** An identity besides the account's own address. */
export interface IdentityRow {
  id: string
  name: string | null
  address: string
  /** As it was set here. */
  signature: Signature | null
  /** As it was set at the provider. */
  provider_signature: Signature | null
  source: 'provider' | 'custom'
  /** False for an address that the provider no longer offers. */
  is_offered: boolean
}

const columns = sql.raw('id, name, address, signature, provider_signature, source, is_offered')

/** The identities of an account besides its own address, oldest first. */
export async function listIdentities(db: Db, accountId: string): Promise<IdentityRow[]> {
  const { rows } = await sql<IdentityRow>`
    select ${columns} from identity where account_id = ${accountId} and is_offered order by created_at, id
  `.execute(db)
  return rows
}

export async function findIdentity(db: Db, accountId: string, id: string): Promise<IdentityRow | null> {
  const { rows } = await sql<IdentityRow>`
    select ${columns} from identity where account_id = ${accountId} and id = ${id}
  `.execute(db)
  return rows[0] ?? null
}

export async function findIdentityByAddress(
  db: Db,
  accountId: string,
  address: string,
): Promise<IdentityRow | null> {
  const { rows } = await sql<IdentityRow>`
    select ${columns} from identity
    where account_id = ${accountId} and compared_address = ${comparedAddress(address)} and is_offered
  `.execute(db)
  return rows[0] ?? null
}

export interface OwnAddressRow {
  email: string
  identity_addresses: string[]
}

/**
 * The columns that `ownAddressesOf` needs, in a statement over `account`.
 *
 * A transaction that records messages locks the half of mail in an earlier statement. A change of identities holds that
 * half, so addresses that were read under the lock are still right at the commit.
 */
export const ownAddressColumns = sql`
  account.email, array(
    select compared_address from identity where account_id = account.id and is_offered) as identity_addresses`

/** The addresses that make a message outbound, as they are compared: the account's own and its identities'. */
export function ownAddressesOf({ email, identity_addresses }: OwnAddressRow): Set<string> {
  return new Set([comparedAddress(email), ...identity_addresses])
}

/** The same, of an account that is not locked. */
export async function listOwnAddresses(db: Db, account: { id: string; email: string }): Promise<Set<string>> {
  const { rows } = await sql<OwnAddressRow>`
    select ${ownAddressColumns} from account where id = ${account.id}
  `.execute(db)
  return ownAddressesOf(rows[0] ?? { email: account.email, identity_addresses: [] })
}

export async function countIdentities(db: Db, accountId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from identity where account_id = ${accountId} and source = 'custom'
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Bytes of all signatures of an account but the one of this identity, as they are stored. */
export async function measureSignatures(db: Db, accountId: string, exceptId: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(octet_length(signature::text)), 0)::float8 as bytes from (
      select id, signature from identity where account_id = ${accountId}
      union all select account_id, signature from mail_settings where account_id = ${accountId}
    ) as every where id <> ${exceptId}
  `.execute(db)
  return rows[0]?.bytes ?? 0
}

/** False if the account has a custom identity with this address. */
export async function insertIdentity(
  unit: UnitOfWork,
  accountId: string,
  { id, name, address, signature }: Pick<IdentityRow, 'id' | 'name' | 'address' | 'signature'>,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into identity (id, tenant_id, account_id, address, compared_address, name, signature)
    values (${id}, ${unit.tenantId}, ${accountId}, ${address}, ${comparedAddress(address)}, ${name},
      ${signature && JSON.stringify(signature)}::jsonb)
    on conflict (account_id, compared_address) do nothing
  `.execute(unit.sql)
  return numAffectedRows > 0n
}

export async function updateIdentity(
  unit: UnitOfWork,
  accountId: string,
  { id, name, signature }: IdentityRow,
): Promise<void> {
  await sql`
    update identity set name = ${name}, signature = ${signature && JSON.stringify(signature)}::jsonb
    where account_id = ${accountId} and id = ${id}
  `.execute(unit.sql)
}

export async function deleteIdentity(unit: UnitOfWork, accountId: string, id: string): Promise<void> {
  await sql`delete from identity where account_id = ${accountId} and id = ${id}`.execute(unit.sql)
}
