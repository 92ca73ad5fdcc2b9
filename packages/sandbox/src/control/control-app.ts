import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import { clientSchema, type SeededProvider, seedSchema, userSchema, type WorldSeed } from '../world/seed.ts'
import type { World } from '../world/world.ts'
import { callRoutes } from './calls.ts'
import { clientRoutes } from './clients.ts'
import { clockRoutes } from './clock.ts'
import { faultRoutes } from './faults.ts'
import { followingRoutes } from './following.ts'
import { grantRoutes } from './grants.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'
import { userRoutes } from './users.ts'

/** Begins again with this seed, or with the one that the sandbox was started with. */
export type Reset = (seed: WorldSeed | null) => void

/** The control API of a world: for tests and people, on loopback only. */
export function controlApp(world: World, providers: readonly SeededProvider[], reset: Reset): ControlApp {
  const app: ControlApp = new Hono()
  app.use(async (context, next) => {
    if (!isLocal(context.env, context.req.header('host'), context.req.header('origin'))) {
      return context.json({ error: 'The control API answers local programs only.' }, 403)
    }
    return next()
  })
  app.onError((error, context) => {
    if (error instanceof InvalidInput) return context.json({ error: error.message }, 422)
    return context.json({ error: error.stack ?? String(error) }, 500)
  })
  app.notFound(context =>
    context.json({ error: `There is no ${context.req.method} ${context.req.path}.` }, 404),
  )
  app.get('/hosts', context => context.json(world.origins))
  app.post('/reset', async context => {
    const given = await readJson(context)
    reset(given === undefined ? null : parseInput(seedSchema(providers), given))
    return context.body(null, 204)
  })
  for (const routes of [
    userRoutes(world, userSchema(providers)),
    clientRoutes(world, clientSchema(providers)),
    grantRoutes(world),
    followingRoutes(world),
    faultRoutes(world.faults),
    callRoutes(world.calls),
    clockRoutes(world.clock),
    ...[...world.providers.values()].map(({ controls }) => controls),
  ]) {
    app.route('/', routes)
  }
  return app
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[?::1\]?|::ffff:127\.\d+\.\d+\.\d+|localhost)$/

/** Refuses other machines, and web pages: they would come with an `Origin`, or by a name of their own. */
function isLocal(env: HttpBindings, host: string | undefined, origin: string | undefined): boolean {
  const name = host?.replace(/:\d+$/, '') ?? ''
  return origin === undefined && LOOPBACK.test(name) && LOOPBACK.test(env.incoming.socket.remoteAddress ?? '')
}
