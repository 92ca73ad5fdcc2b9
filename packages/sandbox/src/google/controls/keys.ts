import { Hono } from 'hono'
import type { ControlApp } from '../../control/routes.ts'
import type { GoogleGround } from '../ground.ts'

/** Routes of the keys of service accounts. */
export function keyRoutes({ accounts, origins }: GoogleGround): ControlApp {
  const app: ControlApp = new Hono()
  // As the key files that Google lets an administrator download.
  app.get('/service-accounts', context => {
    const items = [...accounts.serviceAccounts.values()].map(account => ({
      type: 'service_account',
      project_id: 'sandbox',
      private_key_id: account.keyId,
      private_key: account.keys().privateKey,
      client_email: account.email,
      client_id: account.clientId,
      auth_uri: `${origins['accounts.google.com']}/o/oauth2/auth`,
      token_uri: `${origins['oauth2.googleapis.com']}/token`,
    }))
    return context.json({ items })
  })
  return app
}
