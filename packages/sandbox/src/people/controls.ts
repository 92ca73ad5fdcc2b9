import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../control/read-json.ts'
import type { ControlApp } from '../control/routes.ts'
import { parseInput } from '../world/invalid-input.ts'
import { requireUser, type Users } from '../world/users.ts'
import { WRITABLE } from './person-fields.ts'
import type { People } from './people.ts'

const Fields = z.partialRecord(
  z.enum(Object.keys(WRITABLE) as [string, ...string[]]),
  z.array(z.record(z.string(), z.unknown())),
)
const Added = z.strictObject({ contacts: z.array(Fields).min(1).max(10_000) })
const Merged = z.strictObject({ resourceNames: z.array(z.string()).min(1).max(100) })
const Expiry = z.strictObject({ user: z.string().optional() }).optional()
const PHOTO_BYTES_MAX = 20 * 1024 * 1024

/** Routes by which another client, and time, change the contacts of Google's users. */
export function peopleRoutes(people: People, users: Users): ControlApp {
  const app: ControlApp = new Hono()
  app.patch('/people', async context => context.json(people.configure(await readJson(context))))
  app.post('/people/expire', async context => {
    const { user } = parseInput(Expiry, await readJson(context)) ?? {}
    people.expire(user === undefined ? null : requireUser(users, user))
    return context.body(null, 204)
  })
  app.get('/people/:email', context =>
    context.json({ items: people.list(requireUser(users, context.req.param('email'))) }),
  )
  app.post('/people/:email', async context => {
    const { contacts } = parseInput(Added, await readJson(context))
    return context.json({ items: people.add(requireUser(users, context.req.param('email')), contacts) })
  })
  app.post('/people/:email/merge', async context => {
    const { resourceNames } = parseInput(Merged, await readJson(context))
    return context.json(people.merge(requireUser(users, context.req.param('email')), resourceNames))
  })
  app.patch('/people/:email/:id', async context => {
    const { email, id } = context.req.param()
    const fields = parseInput(Fields, await readJson(context))
    return context.json(people.change(requireUser(users, email), `people/${id}`, fields))
  })
  app.delete('/people/:email/:id', context => {
    const { email, id } = context.req.param()
    people.remove(requireUser(users, email), `people/${id}`)
    return context.body(null, 204)
  })
  app.put('/people/:email/:id/photo', async context => {
    const { email, id } = context.req.param()
    const bytes = Buffer.from(await context.req.arrayBuffer()).subarray(0, PHOTO_BYTES_MAX)
    const contentType = context.req.header('content-type') ?? 'image/jpeg'
    return context.json(people.setPhoto(requireUser(users, email), `people/${id}`, { contentType, bytes }))
  })
  app.delete('/people/:email/:id/photo', context => {
    const { email, id } = context.req.param()
    return context.json(people.setPhoto(requireUser(users, email), `people/${id}`, null))
  })
  return app
}
