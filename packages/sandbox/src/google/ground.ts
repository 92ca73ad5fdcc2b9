import type { Ground } from '../world/ground.ts'
import type { Users } from '../world/users.ts'
import type { Accounts } from './accounts.ts'
import type { SigningKeys } from '../signing/keys.ts'

/** The ground of Google's hosts: that of the world, with Google's users, its sign-in and its keys. */
export interface GoogleGround extends Ground {
  readonly users: Users
  /** Google's sign-in: clients, grants, tokens. */
  readonly accounts: Accounts
  readonly keys: SigningKeys
}
