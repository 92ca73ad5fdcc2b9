import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../control/read-json.ts'
import type { ControlApp } from '../control/routes.ts'
import { parseInput } from '../world/invalid-input.ts'
import { requireUser, type Users } from '../world/users.ts'
import type { Calendars } from './calendar.ts'
import { ROLES } from './store/calendars.ts'

const Expiry = z.strictObject({ user: z.string().optional() }).optional()
const Share = z.strictObject({ calendarId: z.string(), user: z.string(), role: z.enum(ROLES).nullable() })

/** Routes by which time, and owners of calendars, change what Google's users see. */
export function calendarRoutes(calendars: Calendars, users: Users): ControlApp {
  const app: ControlApp = new Hono()
  app.patch('/calendar', async context => context.json(calendars.configure(await readJson(context))))
  app.post('/calendar/expire', async context => {
    const { user } = parseInput(Expiry, await readJson(context)) ?? {}
    calendars.expire(user === undefined ? null : requireUser(users, user))
    return context.body(null, 204)
  })
  app.post('/calendar/shares', async context => {
    const { calendarId, user, role } = parseInput(Share, await readJson(context))
    calendars.share(calendarId, requireUser(users, user), role)
    return context.body(null, 204)
  })
  app.get('/calendar/channels', context => context.json({ items: calendars.channels() }))
  return app
}
