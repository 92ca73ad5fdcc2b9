import { Hono } from 'hono'
import { z } from 'zod'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import { requireUser } from '../world/users.ts'
import type { World } from '../world/world.ts'
import { chooseProvider } from './choose-provider.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'

const Expiry = z
  .strictObject({
    user: z.string().optional(),
    provider: z.string().optional(),
    at: z.enum(['next', 'delta']).optional(),
  })
  .optional()

const Pushes = z.looseObject({ provider: z.string().optional() })

/** Routes of what clients follow mailboxes by: places in a history, and pushes. */
export function followingRoutes(world: World): ControlApp {
  const app: ControlApp = new Hono()
  app.post('/history/expire', async context => {
    const { user: email, provider, at = null } = parseInput(Expiry, await readJson(context)) ?? {}
    const user = email === undefined ? null : requireUser(world.users, email)
    if (user && provider !== undefined && provider !== user.provider)
      throw new InvalidInput(`provider: ${user.email} is a user of ${user.provider}.`)
    chooseProvider(world, { provider, user: email }).expire({ user, at })
    return context.body(null, 204)
  })
  app.patch('/pushes', async context => {
    const { provider, ...settings } = parseInput(Pushes, (await readJson(context)) ?? {})
    return context.json(chooseProvider(world, { provider }).configurePushes(settings))
  })
  return app
}
