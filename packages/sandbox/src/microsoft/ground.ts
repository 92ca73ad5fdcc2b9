import type { Ground } from '../world/ground.ts'
import type { Users } from '../world/users.ts'
import type { Clients } from './sign-in/clients.ts'
import type { CausedRefusals } from './sign-in/caused-refusals.ts'
import type { Assertions } from './sign-in/assertion.ts'
import type { Codes } from './sign-in/codes.ts'
import type { Grants } from './sign-in/grants.ts'
import type { CloudKeys } from './sign-in/keys.ts'
import type { Tenants } from './tenants.ts'

/** The ground of Microsoft's hosts: that of the world, with Microsoft's users and its sign-in. */
export interface MicrosoftGround extends Ground {
  readonly users: Users
  readonly tenants: Tenants
  readonly clients: Clients
  readonly grants: Grants
  readonly codes: Codes
  readonly assertions: Assertions
  readonly refusals: CausedRefusals
  readonly keys: CloudKeys
}
