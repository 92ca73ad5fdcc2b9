import { Hono } from 'hono'
import { readJson } from '../control/read-json.ts'
import type { ControlApp } from '../control/routes.ts'
import type { Gmail } from './gmail.ts'

export function gmailRoutes(gmail: Gmail): ControlApp {
  const app: ControlApp = new Hono()
  app.patch('/gmail', async context => context.json(gmail.configure(await readJson(context))))
  return app
}
