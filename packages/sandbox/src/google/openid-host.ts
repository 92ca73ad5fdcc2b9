import { Hono } from 'hono'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import type { GoogleGround } from './ground.ts'
import { userInfo } from './user-info.ts'

/** Plays openidconnect.googleapis.com. */
export function openIdHost(ground: GoogleGround): HostApp {
  const app = new Hono<HostEnv>()
  app.on(['GET', 'POST'], '/v1/userinfo', context => userInfo(ground, context.req.raw, context.env.call))
  return app
}
