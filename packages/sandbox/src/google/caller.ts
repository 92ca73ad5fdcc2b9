import type { User } from '../world/users.ts'
import type { Client } from './clients.ts'

/** The user whose access token an API call has, and what the token allows. */
export interface Caller {
  readonly user: User
  /** Null for a service account that acts for the user. */
  readonly client: Client | null
  readonly scopes: readonly string[]
}
