import type { Scope } from '@waxwing/contract/operation.ts'

/** Who sends a request, as far as the operations need to know. */
export interface Credential {
  /** `connect_session`: the session of a hosted operation, which has no scopes. */
  kind: 'api_key' | 'account_token' | 'connect_session'
  id: string
  scopes: readonly Scope[]
  /** The accounts that it may see; null: every account of its tenant. */
  accountIds: readonly string[] | null
}

/** How many requests the plan allows in one minute; null: any number. */
export interface Rates {
  perTenant: number | null
  perCredential: number | null
}
