import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../../control/read-json.ts'
import type { ControlApp } from '../../control/routes.ts'
import { parseInput } from '../../world/invalid-input.ts'
import { requireUser, type Users } from '../../world/users.ts'
import { LIFECYCLE_EVENTS } from './notify.ts'
import { present, type SubscriptionParts } from './subscriptions.ts'

const Event = z.strictObject({
  event: z.enum(LIFECYCLE_EVENTS),
  /** Address of the user whose subscriptions get the event; by default those of all users. */
  user: z.string().optional(),
})

/** Routes of the control API that list the subscriptions of Graph and send lifecycle events. */
export function subscriptionControls(
  { store, notifier }: Pick<SubscriptionParts, 'store' | 'notifier'>,
  users: Users,
): ControlApp {
  const app: ControlApp = new Hono()
  app.get('/subscriptions', context =>
    context.json({
      items: store.list().map(one => ({ user: one.email, isPaused: one.isPaused, ...present(one) })),
    }),
  )
  app.post('/subscriptions/events', async context => {
    const { event, user } = parseInput(Event, await readJson(context))
    const email = user === undefined ? null : requireUser(users, user).email
    const told = store.list().filter(one => email === null || one.email === email)
    notifier.tell(told, event)
    return context.json({ told: told.length })
  })
  return app
}
