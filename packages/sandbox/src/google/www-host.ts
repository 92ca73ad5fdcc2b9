import { Hono } from 'hono'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import type { GoogleGround } from './ground.ts'
import { tokenInfo } from './token-info.ts'
import { userInfo } from './user-info.ts'

const CERTS_SECONDS = 3600

/** Plays www.googleapis.com: the keys of ID tokens, older addresses of sign-in, Gmail's paths, and the Calendar API. */
export function wwwHost(ground: GoogleGround, gmail: HostApp, calendar: HostApp): HostApp {
  const app = new Hono<HostEnv>()
  const caching = { 'cache-control': `public, max-age=${CERTS_SECONDS}, must-revalidate` }
  app.get('/oauth2/v3/certs', async context => {
    const published = await ground.keys.published()
    return context.json({ keys: published.map(({ jwk }) => jwk) }, 200, caching)
  })
  app.get('/oauth2/v1/certs', async context => {
    const published = await ground.keys.published()
    return context.json(Object.fromEntries(published.map(({ keyId, pem }) => [keyId, pem])), 200, caching)
  })
  app.get('/oauth2/v3/userinfo', context => userInfo(ground, context.req.raw, context.env.call))
  app.on(['GET', 'POST'], '/oauth2/v3/tokeninfo', context =>
    tokenInfo(ground, {
      accessToken: context.req.query('access_token') ?? null,
      idToken: context.req.query('id_token') ?? null,
    }),
  )
  app.route('/', gmail)
  app.route('/', calendar)
  return app
}
