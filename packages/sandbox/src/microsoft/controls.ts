import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../control/read-json.ts'
import type { ControlApp } from '../control/routes.ts'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import { requireUser } from '../world/users.ts'
import { cloudOf } from './clouds.ts'
import type { GraphMail } from './graph/mail.ts'
import { shareCalendar } from './mailbox/calendars.ts'
import { type Calendar, type Calendars, SHARE_ROLES } from './mailbox/event.ts'
import { moveEvent } from './mailbox/events.ts'
import { findEvent } from './mailbox/occurrences.ts'
import type { MicrosoftGround } from './ground.ts'
import { SeedTenantSchema } from './seed.ts'
import { CAUSED_CODES } from './sign-in/errors.ts'

const COUNT_MAX = 10_000

const Refusal = z.strictObject({
  /** Number of an AADSTS code. */
  code: z.int().refine(code => CAUSED_CODES.includes(code), {
    message: `must be one of ${CAUSED_CODES.join(', ')}`,
  }),
  user: z.string().optional(),
  clientId: z.string().optional(),
  /** Number of token requests to refuse; by default 1. */
  count: z.int().min(1).max(COUNT_MAX).optional(),
})

const Share = z.strictObject({
  /** Address of the owner. */
  owner: z.string(),
  /** Id or name of a calendar of the owner; by default the default calendar. */
  calendar: z.string().optional(),
  user: z.string(),
  role: z.enum(SHARE_ROLES).nullable(),
})

const Move = z.strictObject({
  /** Address of the owner of both calendars. */
  user: z.string(),
  /** Id of the event. */
  event: z.string(),
  /** Id or name of the calendar to which it moves. */
  calendar: z.string(),
})

const Withdrawal = z.strictObject({ user: z.string(), clientId: z.string() })

function requireCalendar({ own }: Calendars, idOrName: string): Calendar {
  const found = [...own.values()].find(({ id, name }) => id === idOrName || name === idOrName)
  if (!found) throw new InvalidInput(`There is no calendar ${idOrName}.`)
  return found
}

/** The routes of the control API that are Microsoft's own. */
export function microsoftControls(ground: MicrosoftGround, mail: GraphMail): ControlApp {
  const { users, tenants, clients, grants, refusals } = ground
  const app: ControlApp = new Hono()
  app.patch('/graph', async context => context.json(mail.configure((await readJson(context)) ?? {})))
  app.post('/graph/calendar-shares', async context => {
    const { owner, calendar, user, role } = parseInput(Share, await readJson(context))
    const { calendars } = mail.mailboxOf(requireUser(users, owner))
    const shared = calendar === undefined ? calendars.main : requireCalendar(calendars, calendar)
    shareCalendar(mail.mailboxOf(requireUser(users, user)), shared, role)
    return context.body(null, 204)
  })
  app.post('/graph/calendar-moves', async context => {
    const { user, event, calendar } = parseInput(Move, await readJson(context))
    const mailbox = mail.mailboxOf(requireUser(users, user))
    const moved = findEvent(mailbox, event)?.of
    const from = moved && mailbox.calendars.byEvent.get(moved.number)
    if (!from) throw new InvalidInput(`${user} has no event ${event}.`)
    moveEvent(mailbox, from, requireCalendar(mailbox.calendars, calendar), moved)
    return context.body(null, 204)
  })
  app.patch('/tenants', async context =>
    context.json(tenants.configure(parseInput(SeedTenantSchema, await readJson(context)))),
  )
  app.post('/token-refusals', async context => {
    const { code, user, clientId = null, count = 1 } = parseInput(Refusal, await readJson(context))
    const email = user === undefined ? null : requireUser(users, user).email
    refusals.add({ code, user: email, clientId, left: count })
    return context.body(null, 204)
  })
  app.delete('/token-refusals', context => {
    refusals.clear()
    return context.body(null, 204)
  })
  app.post('/consents/withdraw', async context => {
    const input = parseInput(Withdrawal, await readJson(context))
    const user = requireUser(users, input.user)
    const client = clients.find(cloudOf(user).loginHost, input.clientId)
    if (!client) throw new InvalidInput(`There is no client ${input.clientId} in ${user.cloud}.`)
    grants.withdraw(user, tenants.of(user), client)
    return context.body(null, 204)
  })
  return app
}
