import { Hono } from 'hono'
import type { Calendars } from '../../calendar/calendar.ts'
import { calendarRoutes } from '../../calendar/controls.ts'
import type { ControlApp } from '../../control/routes.ts'
import { gmailRoutes } from '../../gmail/controls.ts'
import type { Gmail } from '../../gmail/gmail.ts'
import { peopleRoutes } from '../../people/controls.ts'
import type { People } from '../../people/people.ts'
import type { GoogleGround } from '../ground.ts'
import { keyRoutes } from './keys.ts'

/** The routes of the control API that are Google's own. */
export function googleControls(
  ground: GoogleGround,
  { gmail, people, calendars }: { gmail: Gmail; people: People; calendars: Calendars },
): ControlApp {
  const app: ControlApp = new Hono()
  for (const routes of [
    keyRoutes(ground),
    gmailRoutes(gmail),
    peopleRoutes(people, ground.users),
    calendarRoutes(calendars, ground.users),
  ])
    app.route('/', routes)
  return app
}
