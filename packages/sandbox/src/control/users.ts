import { Hono } from 'hono'
import { z } from 'zod'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import { SeedUserSchema } from '../world/seed.ts'
import { type ControlEnv, requireUser } from './control-env.ts'
import { readJson } from './read-json.ts'

const Changes = z.strictObject({
  suspended: z.boolean().optional(),
  /** A new password: every grant that includes mail ends. */
  passwordChanged: z.literal(true).optional(),
})

export function userRoutes(): Hono<ControlEnv> {
  const app = new Hono<ControlEnv>()
  app.get('/users', context => context.json({ items: context.var.world.users.list() }))
  app.post('/users', async context => {
    const { world } = context.var
    const given = parseInput(SeedUserSchema, await readJson(context))
    if (world.users.find(given.email)) throw new InvalidInput(`${given.email} exists.`)
    return context.json(world.addUser(given), 201)
  })
  app.patch('/users/:email', async context => {
    const { world } = context.var
    const user = requireUser(world, context.req.param('email'))
    const { suspended, passwordChanged } = parseInput(Changes, await readJson(context))
    if (suspended !== undefined) user.suspended = suspended
    if (passwordChanged) world.accounts.grants.endMailGrants(user)
    return context.json(user)
  })
  app.post('/users/:email/messages', async context => {
    const { world } = context.var
    const user = requireUser(world, context.req.param('email'))
    const message = new Uint8Array(await context.req.arrayBuffer())
    return context.json(world.gmail.deliver(user, message), 201)
  })
  return app
}
