import { Hono } from 'hono'
import { z } from 'zod'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import { delegatesSchema, type SeedUser } from '../world/seed.ts'
import { requireUser } from '../world/users.ts'
import type { World } from '../world/world.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'

const Changes = z.strictObject({
  suspended: z.boolean().optional(),
  /** A new password: the provider ends the grants that it ends then. */
  passwordChanged: z.literal(true).optional(),
  delegates: delegatesSchema.optional(),
})

export function userRoutes(world: World, newUser: z.ZodType<SeedUser>): ControlApp {
  const { users } = world
  const app: ControlApp = new Hono()
  app.get('/users', context => context.json({ items: users.list() }))
  app.get('/mail-hosts/:domain', context =>
    context.json({ items: world.mailHosts(context.req.param('domain')) }),
  )
  app.post('/users', async context => {
    const given = parseInput(newUser, await readJson(context))
    if (users.find(given.email)) throw new InvalidInput(`${given.email} exists.`)
    return context.json(world.addUser(given), 201)
  })
  app.patch('/users/:email', async context => {
    const user = requireUser(users, context.req.param('email'))
    const { suspended, passwordChanged, delegates } = parseInput(Changes, await readJson(context))
    if (delegates !== undefined) world.changeDelegates(user, delegates)
    if (suspended !== undefined) user.suspended = suspended
    if (suspended) world.providers.get(user.provider)?.suspend?.(user)
    if (passwordChanged) world.providers.get(user.provider)?.changePassword(user)
    return context.json(user)
  })
  app.post('/users/:email/messages', async context => {
    const user = requireUser(users, context.req.param('email'))
    const message = new Uint8Array(await context.req.arrayBuffer())
    return context.json(world.post.deliver(user, { message, from: null }), 201)
  })
  return app
}
