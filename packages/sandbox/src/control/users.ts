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

/** The host that Google's domains name in their MX records. */
const MAIL_HOST = 'aspmx.l.google.com'

export function userRoutes(): Hono<ControlEnv> {
  const app = new Hono<ControlEnv>()
  app.get('/users', context => context.json({ items: context.var.world.users.list() }))
  app.get('/mail-hosts/:domain', context => {
    const ending = `@${context.req.param('domain').toLowerCase()}`
    const isPlayed = context.var.world.users.list().some(({ email }) => email.toLowerCase().endsWith(ending))
    return context.json({ items: isPlayed ? [MAIL_HOST] : [] })
  })
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
