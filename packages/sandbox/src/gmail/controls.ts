import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../control/read-json.ts'
import type { ControlApp } from '../control/routes.ts'
import { parseInput } from '../world/invalid-input.ts'
import { requireUser, type Users } from '../world/users.ts'
import type { Gmail } from './gmail.ts'

const Expiry = z.strictObject({ user: z.string().optional() }).optional()

export function gmailRoutes(gmail: Gmail, users: Users): ControlApp {
  const app: ControlApp = new Hono()
  app.post('/history/expire', async context => {
    const { user } = parseInput(Expiry, await readJson(context)) ?? {}
    gmail.expireHistory(user === undefined ? null : requireUser(users, user))
    return context.body(null, 204)
  })
  app.patch('/pushes', async context => context.json(gmail.configurePushes(await readJson(context))))
  app.patch('/gmail', async context => context.json(gmail.configure(await readJson(context))))
  return app
}
