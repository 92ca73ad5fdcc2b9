import { createSecretKey, type KeyObject } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { requireSealedValue } from '../../../database/sealed-value.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type JobKind, enqueue } from '../../../jobs/enqueue.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { newId } from '../../../kit/ids.ts'
import type { KeyRing } from '../../../kit/key-ring.ts'
import { SealError, seal, unseal } from '../../../kit/seal.ts'
import { Secret } from '../../../kit/secret.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { OAuthProvider, SignIns } from '../../../providers/sign-in.ts'
import { deleteGrant } from '../../../accounts/grants/store.ts'
import {
  type AccountKeys,
  type KeyedAccount,
  type TokenKind,
  accountKeys,
} from '../../../accounts/secrets.ts'

/** A grant that could not be revoked by then stays at the provider. */
const REVOCATION_HOURS = 24

/** Opens the tokens of accounts, and seals tokens that outlive their accounts. */
export interface EndingKeys {
  accounts: AccountKeys
  revocations: KeyObject
}

export async function openEndingKeys(db: Db, keyRing: KeyRing): Promise<EndingKeys> {
  const revocations = createSecretKey(await requireSealedValue(db, keyRing, 'revocation_key'))
  return { accounts: accountKeys(keyRing), revocations }
}

const revokeGrant: JobKind<{ revocationId: string }> = {
  name: 'revoke_grant',
  parse(stored) {
    const { revocationId } = stored as { revocationId: unknown }
    if (typeof revocationId !== 'string') throw new TypeError('revocationId is missing')
    return { revocationId }
  },
}

/**
 * Deletes the grant of an account that is being deleted, and enqueues its revocation at the provider. The copy of the
 * refresh token that this needs is sealed, and deleted after 24 hours at the latest.
 */
export async function endGrant(
  unit: UnitOfWork,
  keys: EndingKeys,
  account: KeyedAccount & { subject: string | null; email: string },
): Promise<void> {
  const grant = await deleteGrant(unit, account.id)
  if (!grant || grant.refused_at) return
  if (signInAbilitiesOf(grant.provider).revokingEnds === 'nothing') return
  const token = openToken(keys, account, grant, 'refresh_token')
  if (!token) return
  const id = newId()
  await unit.sql
    .insertInto('grant_revocation')
    .values({
      id,
      tenant_id: unit.tenantId,
      provider: grant.provider,
      client_id: grant.client_id,
      subject: account.subject,
      email: account.email,
      refresh_token: seal(keys.revocations, Buffer.from(token.reveal()), contextOf(unit.tenantId, id)),
      expires_at: sql`clock_timestamp() + make_interval(hours => ${REVOCATION_HOURS})`,
    })
    .execute()
  await enqueue(unit, revokeGrant, [{ revocationId: id }])
}

/** Returns null for a token that was sealed with a key that is lost. */
export function openToken<Kind extends TokenKind>(
  { accounts }: EndingKeys,
  account: KeyedAccount,
  grant: { id: string } & Record<Kind, Buffer>,
  kind: Kind,
): Secret | null {
  try {
    return accounts.tokenSealing(account, grant.id).open(grant[kind], kind)
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

/**
 * Revokes at the provider. That ends every token that the user granted to the OAuth app, so it is left out while an
 * account of any tenant uses one.
 */
export function revocationHandler(db: Db, keys: EndingKeys, signIns: SignIns): JobHandler {
  return jobHandler(revokeGrant, async ({ revocationId }, { signal }) => {
    const revocation = await findRevocation(db, revocationId)
    if (!revocation) return
    if (!revocation.is_shared) {
      const token = unseal(
        keys.revocations,
        revocation.refresh_token,
        contextOf(revocation.tenant_id, revocationId),
      )
      // A provider that can revoke has one cloud only.
      const place = { provider: revocation.provider, cloud: null }
      await signIns.at(place)?.revoke(new Secret(token.toString()), signal)
    }
    await db.deleteFrom('grant_revocation').where('id', '=', revocationId).execute()
  })
}

async function findRevocation(db: Db, id: string) {
  const { rows } = await sql<{
    tenant_id: string
    provider: OAuthProvider
    refresh_token: Buffer
    is_shared: boolean
  }>`
    select revocation.tenant_id, revocation.provider, revocation.refresh_token, exists (
      select from account join oauth_grant on account_id = account.id
      where account.subject = revocation.subject and deleted_at is null
        and oauth_grant.client_id = revocation.client_id
      union all
      -- Either of them may not know its user.
      select from account join oauth_grant on account_id = account.id
      where lower(account.email) = lower(revocation.email) and account.auth_method = 'oauth' and deleted_at is null
        and (account.subject is null or revocation.subject is null)
        and oauth_grant.provider = revocation.provider and oauth_grant.client_id = revocation.client_id
    ) as is_shared
    from grant_revocation as revocation where id = ${id} and expires_at > clock_timestamp()
  `.execute(db)
  return rows[0] ?? null
}

/**
 * Withdraws revocations of a user who has granted again: they would end the new grant as well.
 */
export async function withdrawRevocations(
  unit: UnitOfWork,
  grant: { provider: OAuthProvider; clientId: string; subject: string | null; email: string },
): Promise<void> {
  await sql`
    delete from grant_revocation
    where provider = ${grant.provider} and client_id = ${grant.clientId}
      and (subject = ${grant.subject} or lower(email) = lower(${grant.email}))
  `.execute(unit.sql)
}

export async function forgetRevocations(db: Db): Promise<void> {
  await sql`delete from grant_revocation where expires_at < clock_timestamp()`.execute(db)
}

function contextOf(tenantId: string, id: string): string[] {
  return [tenantId, 'grant_revocation', 'refresh_token', id]
}
