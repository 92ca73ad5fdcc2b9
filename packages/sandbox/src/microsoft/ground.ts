import type { Ground } from '../world/ground.ts'
import type { Users } from '../world/users.ts'
import type { Clients } from './sign-in/clients.ts'
import type { Grants } from './sign-in/grants.ts'
import type { CloudKeys } from './sign-in/keys.ts'
import type { Tenants } from './tenants.ts'

/** The ground of Microsoft's hosts: that of the world, with Microsoft's users and its sign-in. */
export interface MicrosoftGround extends Ground {
  readonly users: Users
  readonly tenants: Tenants
  readonly clients: Clients
  readonly grants: Grants
  readonly keys: CloudKeys
}
