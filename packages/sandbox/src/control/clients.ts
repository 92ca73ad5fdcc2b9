import { Hono } from 'hono'
import type { z } from 'zod'
import { parseInput } from '../world/invalid-input.ts'
import type { SeedClient } from '../world/seed.ts'
import type { World } from '../world/world.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'

/** Routes of the OAuth clients of all providers. */
export function clientRoutes(world: World, newClient: z.ZodType<SeedClient>): ControlApp {
  const app: ControlApp = new Hono()
  app.get('/clients', context => {
    const items = [...world.providers].flatMap(([provider, played]) =>
      played.clients().map(client => ({ provider, ...client })),
    )
    return context.json({ items })
  })
  app.post('/clients', async context => {
    const client = parseInput(newClient, await readJson(context))
    return context.json(world.addClient(client), 201)
  })
  return app
}
