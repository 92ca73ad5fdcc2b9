import { Hono } from 'hono'
import { parseInput } from '../world/invalid-input.ts'
import { SeedClientSchema } from '../world/seed.ts'
import type { ControlEnv } from './control-env.ts'
import { readJson } from './read-json.ts'

export function clientRoutes(): Hono<ControlEnv> {
  const app = new Hono<ControlEnv>()
  app.get('/clients', context => context.json({ items: [...context.var.world.accounts.clients.values()] }))
  app.post('/clients', async context => {
    const client = parseInput(SeedClientSchema, await readJson(context))
    return context.json(context.var.world.accounts.addClient(client), 201)
  })
  return app
}
