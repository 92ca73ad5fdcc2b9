import { Hono } from 'hono'
import { z } from 'zod'
import { parseInput } from '../world/invalid-input.ts'
import type { PlayedProvider } from '../world/provider.ts'
import type { World } from '../world/world.ts'
import { chooseProvider } from './choose-provider.ts'
import { readJson } from './read-json.ts'
import type { ControlApp } from './routes.ts'

const Grant = z.strictObject({
  user: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()).min(1),
  /** By default that of the user. */
  provider: z.string().optional(),
  cloud: z.string().optional(),
})

const Authorization = z.strictObject({
  url: z.url(),
  user: z.string(),
  /** The boxes that stay ticked; by default all. */
  scopes: z.array(z.string()).optional(),
  deny: z.union([z.boolean(), z.literal('admin_required')]).optional(),
})

/** Grants without pages, and pages without a person. */
export function grantRoutes(world: World): ControlApp {
  const app: ControlApp = new Hono()
  app.post('/grants', async context => {
    const { provider, cloud = null, ...input } = parseInput(Grant, await readJson(context))
    const { user } = input
    return context.json(await chooseProvider(world, { provider, user }).grant({ ...input, cloud }), 201)
  })
  app.post('/authorizations', async context => {
    const { url, user, scopes = null, deny } = parseInput(Authorization, await readJson(context))
    const played = providerAt(world, url) ?? chooseProvider(world, { user })
    const denies = deny === true ? 'refused' : deny || null
    return context.json(await played.authorize({ url, user, scopes, denies }), 201)
  })
  return app
}

/** The provider that has the host of a URL, under its real name or its origin here. */
function providerAt(world: World, url: string): PlayedProvider | null {
  const { hostname, origin } = new URL(url)
  const [name] = Object.entries(world.origins).find(([, own]) => own === origin) ?? [hostname]
  return [...world.providers.values()].find(({ apps }) => Object.hasOwn(apps, name)) ?? null
}
