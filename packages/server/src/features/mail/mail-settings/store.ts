import type { Signature } from '@waxwing/contract/mail/identities.ts'
import type { MailSettings } from '@waxwing/contract/mail/mail-settings.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** The mail settings of an account; the defaults until they are set. */
export async function findMailSettings(db: Db, accountId: string): Promise<MailSettings> {
  const { rows } = await sql<{ sign_by_default: boolean }>`
    select sign_by_default from mail_settings where account_id = ${accountId}
  `.execute(db)
  return { signByDefault: rows[0]?.sign_by_default ?? false }
}

/** Changes the settings of a locked account. */
export async function updateMailSettings(
  unit: UnitOfWork,
  accountId: string,
  { signByDefault }: Partial<MailSettings>,
): Promise<void> {
  if (signByDefault === undefined) return
  await sql`
    insert into mail_settings (account_id, tenant_id, sign_by_default)
    values (${accountId}, ${unit.tenantId}, ${signByDefault})
    on conflict (account_id) do update set sign_by_default = excluded.sign_by_default
  `.execute(unit.sql)
}

/** The signatures of the account's own address. */
export interface OwnSignatures {
  /** As it was set here. */
  signature: Signature | null
  /** As it was set at the provider. */
  providerSignature: Signature | null
  /** Time at which the addresses and signatures of the provider were read; null if they were not. */
  readAt: Date | null
}

export async function findOwnSignatures(db: Db, accountId: string): Promise<OwnSignatures> {
  const { rows } = await sql<OwnSignatures>`
    select signature, provider_signature as "providerSignature", identities_read_at as "readAt"
    from mail_settings where account_id = ${accountId}
  `.execute(db)
  return rows[0] ?? { signature: null, providerSignature: null, readAt: null }
}

/** Changes the signature of a locked account's own address. */
export async function updateOwnSignature(
  unit: UnitOfWork,
  accountId: string,
  signature: Signature | null,
): Promise<void> {
  await sql`
    insert into mail_settings (account_id, tenant_id, signature)
    values (${accountId}, ${unit.tenantId}, ${signature && JSON.stringify(signature)}::jsonb)
    on conflict (account_id) do update set signature = excluded.signature
  `.execute(unit.sql)
}
