import { Hono } from 'hono'
import type { ControlApp } from '../../control/routes.ts'
import { gmailRoutes } from '../../gmail/controls.ts'
import type { Gmail } from '../../gmail/gmail.ts'
import { peopleRoutes } from '../../people/controls.ts'
import type { People } from '../../people/people.ts'
import type { GoogleGround } from '../ground.ts'
import { keyRoutes } from './keys.ts'

/** The routes of the control API that are Google's own. */
export function googleControls(ground: GoogleGround, gmail: Gmail, people: People): ControlApp {
  const app: ControlApp = new Hono()
  for (const routes of [keyRoutes(ground), gmailRoutes(gmail), peopleRoutes(people, ground.users)])
    app.route('/', routes)
  return app
}
