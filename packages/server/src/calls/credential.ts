import type { Scope } from '@waxwing/contract/operation.ts'

/** The sender of a request, as far as operations need it. */
export interface Credential {
  /** `connect_session`: the session of a hosted operation, which has no scopes. */
  kind: 'api_key' | 'account_token' | 'connect_session'
  id: string
  /** The name of the API key, of an account token that of the key that created it; null for a session. */
  label: string | null
  scopes: readonly Scope[]
  /** The accounts that it may see. Null means every account of its tenant. */
  accountIds: readonly string[] | null
}

/** Maximum requests per minute by the plan. Null means no limit. */
export interface Rates {
  perTenant: number | null
  perCredential: number | null
}
