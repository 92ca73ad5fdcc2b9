import { Hono } from 'hono'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import { redeemAssertion } from './assertion.ts'
import { bearerToken } from './authenticate.ts'
import { authenticateClient } from './client-authentication.ts'
import { oauthError } from './errors.ts'
import type { GoogleGround } from './ground.ts'
import { redeemCode, refresh } from './redeem.ts'
import { revoke } from './revoke.ts'
import { tokenInfo } from './token-info.ts'

const ASSERTION = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Plays oauth2.googleapis.com. */
export function tokenHost(ground: GoogleGround): HostApp {
  const app = new Hono<HostEnv>()
  app.post('/token', async context => {
    const form = await readForm(context.req.raw)
    const { call } = context.env
    const type = form.get('grant_type')
    if (!type) return oauthError(400, 'invalid_request', 'Missing required parameter: grant_type')
    if (type === ASSERTION) return redeemAssertion(ground, form, call)
    if (type !== 'authorization_code' && type !== 'refresh_token') {
      return oauthError(400, 'unsupported_grant_type', `Invalid grant_type: ${type}`)
    }
    const client = authenticateClient(ground.accounts, form, context.req.header('authorization'))
    if (client instanceof Response) return client
    call.clientId = client.clientId
    return type === 'refresh_token'
      ? refresh(ground, client, form, call)
      : redeemCode(ground, client, form, call)
  })
  // Google answers no GET here.
  app.post('/revoke', async context => {
    const form = await readForm(context.req.raw)
    return revoke(ground.accounts, form.get('token') ?? context.req.query('token') ?? null)
  })
  app.on(['GET', 'POST'], '/tokeninfo', async context => {
    const form = context.req.method === 'POST' ? await readForm(context.req.raw) : new URLSearchParams()
    const read = (name: string) => context.req.query(name) ?? form.get(name)
    const accessToken = read('access_token') ?? bearerToken(context.req.raw)
    return tokenInfo(ground, { accessToken, idToken: read('id_token') })
  })
  return app
}

async function readForm(request: Request): Promise<URLSearchParams> {
  const text = await request.text()
  if (!request.headers.get('content-type')?.startsWith('application/json')) return new URLSearchParams(text)
  try {
    return new URLSearchParams(JSON.parse(text) as Record<string, string>)
  } catch {
    return new URLSearchParams()
  }
}
