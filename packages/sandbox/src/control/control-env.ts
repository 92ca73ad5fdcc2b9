import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { InvalidInput } from '../world/invalid-input.ts'
import type { User } from '../world/users.ts'
import type { World } from '../world/world.ts'

export interface ControlEnv {
  Bindings: HttpBindings
  Variables: { world: World }
}

export type ControlContext = Context<ControlEnv>

export function requireUser(world: World, email: string): User {
  const user = world.users.find(email)
  if (!user) throw new InvalidInput(`There is no user ${email}.`)
  return user
}
