import { Hono } from 'hono'
import { z } from 'zod'
import { parseInput } from '../world/invalid-input.ts'
import { type ControlEnv, requireUser } from './control-env.ts'
import { readJson } from './read-json.ts'

const Expiry = z.strictObject({ user: z.string().optional() }).optional()

const Turn = z.union([
  z.strictObject({ now: z.iso.datetime({ offset: true }) }),
  z.strictObject({ advanceSeconds: z.number() }),
])

export function worldRoutes(): Hono<ControlEnv> {
  const app = new Hono<ControlEnv>()
  app.post('/history/expire', async context => {
    const { world } = context.var
    const { user } = parseInput(Expiry, await readJson(context)) ?? {}
    world.gmail.expireHistory(user === undefined ? null : requireUser(world, user))
    return context.body(null, 204)
  })
  app.patch('/pushes', async context => {
    return context.json(context.var.world.gmail.configurePushes(await readJson(context)))
  })
  app.patch('/gmail', async context => {
    return context.json(context.var.world.gmail.configure(await readJson(context)))
  })
  app.post('/clock', async context => {
    const { clock } = context.var.world
    const turn = parseInput(Turn, await readJson(context))
    clock.turn('now' in turn ? Date.parse(turn.now) - clock.now() : turn.advanceSeconds * 1000)
    return context.json({ now: new Date(clock.now()).toISOString() })
  })
  return app
}
