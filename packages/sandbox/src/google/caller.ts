import type { User } from '../world/users.ts'
import type { Client } from './clients.ts'

/** User, client and scopes of the access token of a call. */
export interface Caller {
  readonly user: User
  /** Null for a service account that acts for the user. */
  readonly client: Client | null
  readonly scopes: readonly string[]
}
