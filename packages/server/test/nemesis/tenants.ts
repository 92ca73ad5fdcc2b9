import { SCOPES } from '@waxwing/contract/operation.ts'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { requireSealedValue } from '../../src/database/sealed-value.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { createApiKey } from '../../src/features/tenancy/credentials/store.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { createTenant } from '../../src/features/tenancy/tenants/store.ts'
import type { Bed } from './bed.ts'

/** Creates a tenant, with a plan if its requests are limited, and returns a key of it. */
export async function createKeyOfTenant(
  { database: { db }, env }: Pick<Bed, 'database' | 'env'>,
  name: string,
  callsPerMinute: number | null = null,
): Promise<string> {
  const tenant = await createTenant(db, name)
  if (!tenant) throw new Error(`There is a tenant ${name} already`)
  if (callsPerMinute !== null)
    await assignPlan(
      db,
      tenant.id,
      await createPlan(db, name, { ...NO_LIMITS, apiCallsPerMinute: callsPerMinute }),
    )
  const keyRing = environmentKeyRing(env['WAXWING_SECRET_KEY'] ?? '')
  const pepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  const key = { tenantId: tenant.id, name: 'nemesis', scopes: [...SCOPES], accountIds: null, expiresAt: null }
  return (await createApiKey(db, pepper, key)).text
}
