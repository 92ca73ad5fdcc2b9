import type { Db } from '../../database/pool.ts'
import type { KeyRing } from '../../kit/key-ring.ts'
import { SealError } from '../../kit/seal.ts'
import { type OperatorsApp, type OperatorsApps, operatorsApps } from '../../providers/operators-apps.ts'
import type { ClientCredential, OAuthProvider, SignInClient, SignInPlace } from '../../providers/sign-in.ts'
import { type AppSecrets, openAppSecrets } from './secrets.ts'
import { type AppRow, findApp, findOldestApp } from './store.ts'

/** An OAuth app, ready to sign in with. */
export interface OAuthClient extends SignInClient {
  provider: OAuthProvider
  cloud: AppRow['cloud']
  /** Null: the operator's. */
  appId: string | null
  /** Scopes of the app; null: the defaults of the provider. */
  scopes: readonly string[] | null
}

export type ClientProblem = 'provider_not_configured' | 'oauth_app_secret_unreadable'

/** An app by its id, or the operator's. */
export interface ClientName {
  provider: OAuthProvider
  cloud: AppRow['cloud']
  appId: string | null
}

/** The OAuth apps of tenants and of the operator. Each call reads the database, so that a new secret counts at once. */
export interface OAuthClients {
  find(db: Db, tenantId: string, name: ClientName): Promise<OAuthClient | ClientProblem>
  /** The app of a new sign-in where none is named: the tenant's oldest, else the operator's; null if there is none. */
  findDefault(
    db: Db,
    tenantId: string,
    app: Omit<ClientName, 'appId'>,
  ): Promise<{ appId: string | null } | null>
  /** Whether the operator has an app there. */
  hasOperators(place: SignInPlace): boolean
}

export async function openOAuthClients(
  db: Db,
  keyRing: KeyRing,
  config: OperatorsApps,
): Promise<OAuthClients> {
  const secrets = await openAppSecrets(db, keyRing)
  const operators = operatorsApps(config)
  const operatorsOf = ({ provider, cloud }: SignInPlace) =>
    operators.find(app => app.provider === provider && app.cloud === cloud)
  return {
    async find(from, tenantId, name) {
      if (name.appId === null) return clientOf(operatorsOf(name))
      const app = await findApp(from, tenantId, name.appId)
      return app && isOf(app, name) ? openClient(secrets, app) : 'provider_not_configured'
    },
    async findDefault(from, tenantId, name) {
      const oldest = await findOldestApp(from, tenantId, name)
      if (oldest) return { appId: oldest.id }
      return operatorsOf(name) ? { appId: null } : null
    },
    hasOperators: place => operatorsOf(place) !== undefined,
  }
}

export function isOf(app: AppRow, { provider, cloud }: Omit<ClientName, 'appId'>): boolean {
  return app.provider === provider && app.cloud === cloud
}

function clientOf(app: OperatorsApp | undefined): OAuthClient | 'provider_not_configured' {
  if (!app) return 'provider_not_configured'
  const { provider, cloud, clientId, credential } = app
  return { provider, cloud, appId: null, clientId, credential, scopes: null }
}

/** The app with its secret or private key, or that it cannot be read. */
export function openClient(secrets: AppSecrets, app: AppRow): OAuthClient | 'oauth_app_secret_unreadable' {
  const { id: appId, provider, cloud, clientId, certificate, scopes } = app
  try {
    const secret = secrets.open(app, app.secret)
    const credential: ClientCredential =
      certificate === null
        ? { type: 'secret', secret }
        : { type: 'certificate', certificate, privateKey: secret }
    return { provider, cloud, appId, clientId, credential, scopes }
  } catch (error) {
    if (error instanceof SealError) return 'oauth_app_secret_unreadable'
    throw error
  }
}
