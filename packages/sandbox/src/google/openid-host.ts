import { Hono } from 'hono'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import type { World } from '../world/world.ts'
import { userInfo } from './user-info.ts'

/** Plays openidconnect.googleapis.com. */
export function openIdHost(world: World): HostApp {
  const app = new Hono<HostEnv>()
  app.on(['GET', 'POST'], '/v1/userinfo', context => userInfo(world, context.req.raw, context.env.call))
  return app
}
