import { Hono } from 'hono'
import { readJson } from '../../control/read-json.ts'
import type { ControlApp } from '../../control/routes.ts'
import { parseInput } from '../../world/invalid-input.ts'
import type { Accounts } from '../accounts.ts'
import { SeedClientSchema } from '../seed.ts'

export function clientRoutes(accounts: Accounts): ControlApp {
  const app: ControlApp = new Hono()
  app.get('/clients', context => context.json({ items: [...accounts.clients.values()] }))
  app.post('/clients', async context => {
    const client = parseInput(SeedClientSchema, await readJson(context))
    return context.json(accounts.addClient(client), 201)
  })
  return app
}
