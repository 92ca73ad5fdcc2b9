import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { newId } from '../../src/kit/ids.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import type { TestFlows } from '../connect-flows.ts'
import { behindProxy } from '../connect/hosted-form.ts'
import { extend, useFlowWorld } from '../connect/use-flow-world.ts'
import type { TestTenant } from '../open-app.ts'

export const BACK = 'https://app.example.com/connected'
/** A user of each cloud. */
export const USERS: Readonly<Record<Cloud, string>> = {
  global: 'eva@office.test',
  'gcc-high': 'gil@gcc.test',
  dod: 'hal@dod.test',
  china: 'ida@china.test',
}
export const CLOUD_NAMES = Object.keys(USERS) as Cloud[]
/** A user of a second organization, and a personal one, in the global cloud. */
export const FINN = 'finn@firm.test'
export const DORA = 'dora@outlook.test'

export const failedWith = (error: string) => ({
  outcome: 'returned',
  url: `${BACK}?status=error&error=${error}&state=s`,
})

/** The body of a session by which a new mailbox is connected. */
export const newIn = (cloud: Cloud, more: Record<string, unknown> = {}) => ({
  redirectUri: BACK,
  providers: ['microsoft'],
  microsoftCloud: cloud,
  state: 's',
  ...more,
})

/** The client of a cloud. Its id differs, so that none can be mistaken for another. */
const clientOf = (cloud: Cloud) => ({ clientId: `app-${cloud}`, clientSecret: `secret-${cloud}` })

interface GivenTenant {
  tenant: TestTenant
  world: TestFlows
  apps: Record<Cloud, OAuthApp>
}

/** The service and a sandbox, once for the tests of a file. Each test has a tenant with an app in each cloud. */
export function useMicrosoft() {
  const users = [...Object.entries(USERS), ['global', FINN] as const, ['global', DORA] as const].map(
    ([cloud, email]) => ({
      provider: 'microsoft',
      cloud,
      email,
      messages: 0,
    }),
  )
  const clients = CLOUD_NAMES.map(cloud => ({ provider: 'microsoft', cloud, ...clientOf(cloud) }))
  const at = useFlowWorld({
    seed: { users, clients },
    app: ({ controlUrl }) => behindProxy({ config: { sandboxUrl: controlUrl } }),
    async give({ sandbox }) {
      await sandbox.reset()
      return newTenant()
    },
  })

  async function newTenant(): Promise<GivenTenant> {
    const { app, open } = at
    const tenant = await app.createTenant(`tenant ${newId()}`)
    await tenant.patch('/v1/settings', { redirectUris: [BACK] })
    const made = await Promise.all(
      CLOUD_NAMES.map(async cloud => {
        const body = { provider: 'microsoft', name: cloud, cloud, ...clientOf(cloud) }
        return [cloud, (await tenant.post<OAuthApp>('/v1/oauth-apps', body)).body] as const
      }),
    )
    // Each cloud has its entry.
    const apps = Object.fromEntries(made) as Record<Cloud, OAuthApp>
    return { tenant, world: open.of(tenant, 'microsoft'), apps }
  }

  return extend(at, {
    get apps() {
      return at.given.apps
    },
    /** A refresh token that was obtained elsewhere with the app of the cloud. */
    grant: async (cloud: Cloud, scopes: readonly string[], email = USERS[cloud]) =>
      (
        await at.sandbox.grant(email, scopes, clientOf(cloud).clientId, {
          provider: 'microsoft',
          cloud,
        })
      ).refreshToken,
  })
}
