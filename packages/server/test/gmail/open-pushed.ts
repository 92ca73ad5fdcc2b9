import type { Role } from '../../src/config/settings.ts'
import { Secret } from '../../src/kit/secret.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { SANDBOX_CLIENT } from './connect-gmail.ts'

const TOPIC = 'projects/operator/topics/gmail'
export const SUBSCRIPTION = 'projects/operator/subscriptions/gmail'
/** The service account by which the operator's pushes are signed. */
export const SIGNER = 'push@operator.iam.gserviceaccount.com'
const SEED = {
  users: [
    { email: 'ada@gmail.test', messages: 3 },
    { email: 'ben@gmail.test', messages: 3 },
    { email: 'cleo@corp.test', messages: 3 },
  ],
  clients: [SANDBOX_CLIENT],
}

/** A service that gets pushes, and the sandbox's Gmail. */
export interface Pushed extends AsyncDisposable {
  sandbox: SandboxServer
  app: TestApp
}

/** @param pollSeconds the service polls less often while it is pushed */
export async function openPushed(
  pollSeconds: number,
  { roles = ['api', 'sync'], baseUrl }: { roles?: Role[]; baseUrl?: string } = {},
): Promise<Pushed> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox({ seed: SEED }))
  const app = opened.use(
    await openTestApp({
      roles,
      pace: { pollSeconds },
      config: {
        sandboxUrl: sandbox.controlUrl,
        ...(baseUrl !== undefined && { baseUrl }),
        googleClientId: SANDBOX_CLIENT.clientId,
        googleClientSecret: new Secret(SANDBOX_CLIENT.clientSecret),
        googlePushTopic: TOPIC,
        googlePushSubscription: SUBSCRIPTION,
        googlePushServiceAccount: SIGNER,
      },
    }),
  )
  await sandbox.configurePushes({ subscriptions: [subscriptionOf(app)], intervalMilliseconds: 0 })
  const owned = opened.move()
  return { sandbox, app, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

export const endpointOf = (app: TestApp): string => new URL('/push/gmail', app.address).href
const subscriptionOf = (app: TestApp) => ({
  topic: TOPIC,
  subscription: SUBSCRIPTION,
  endpoint: endpointOf(app),
  serviceAccount: SIGNER,
})
