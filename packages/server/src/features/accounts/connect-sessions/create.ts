import type {
  AccountSettingsInput,
  AccountSettingsOverride,
} from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { isRedirectUri, type TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { type OAuthProvider, oauthProvider } from '@waxwing/contract/shapes.ts'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import { abilitiesOf, type AccountKind, signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { planSettings } from '../accounts/rules.ts'
import { findAccount } from '../../../accounts/store.ts'
import { chooseApp, type Choosing, requireNamedApps } from '../oauth-apps/choose-app.ts'
import type { OAuthClients } from '../../../accounts/apps/clients.ts'
import { requireBodyStorage } from '../plans/limits.ts'
import type { RequireStorage } from '../settings/body-storage.ts'
import type { NewSession } from './record.ts'
import { digestSecret, newSecret } from './rules.ts'

/** Parameters of a new flow, hosted or headless. */
export interface GivenFlow {
  kind: NewSession['kind']
  /** Undefined means all that have an app. */
  providers?: readonly OAuthProvider[] | undefined
  microsoftCloud?: Account['cloud'] | undefined
  appIds: { [P in OAuthProvider]?: string | undefined }
  redirectUri?: string | undefined
  state?: string | undefined
  externalRef?: string | null | undefined
  loginHint?: string | undefined
  accountId?: string | undefined
  settings?: AccountSettingsInput | undefined
  passwordImap?: boolean | undefined
  ttlSeconds: number
}

export interface FlowServices {
  clients: OAuthClients
  signIns: SignIns
  requireStorage: RequireStorage
}

/** Decides which providers a new flow offers, or refuses it. Returns the session, and the token of its link. */
export async function planSession(
  { requireStorage, ...services }: FlowServices,
  db: Db,
  tenantId: string,
  given: GivenFlow,
): Promise<{ session: NewSession; token: string }> {
  const inherited = await findTenantSettings(db, tenantId)
  requireRedirectUri(inherited, given.redirectUri)
  const microsoftCloud = given.microsoftCloud ?? null
  const appIds = Object.fromEntries(Object.entries(given.appIds).filter(([, id]) => id !== undefined))
  const account =
    given.accountId === undefined ? null : await requireLiveAccount(db, tenantId, given.accountId)
  const choosing = { tenantId, appIds, microsoftCloud, account }
  await requireNamedApps(db, choosing)

  const asked = given.providers && [...new Set(given.providers)]
  const own = account && abilitiesOf(account.provider).signInAt
  if (asked && account && (own === null || !asked.includes(own))) refuse('provider_not_allowed')
  const candidates = account ? (own === null ? [] : [own]) : (asked ?? oauthProvider.options)
  if (microsoftCloud !== null && !candidates.some(one => signInAbilitiesOf(one).defaultCloud !== null))
    refuse('not_microsoft')
  const providers = await findConfigured({ ...services, db }, candidates, choosing)
  if ((asked || account) && providers.length < candidates.length) refuse('provider_not_configured')
  if (Object.keys(appIds).some(provider => !providers.some(one => one === provider)))
    refuse('provider_not_allowed')
  const passwordImap = account ? own === null : (given.passwordImap ?? asked === undefined)
  if (providers.length === 0 && !passwordImap) refuse('provider_not_configured')

  const settings = account ? {} : await planOwnSettings(db, tenantId, inherited, { given, providers })
  const wantsShared = account ? false : await planShared(db, tenantId, { given, providers })
  if (!account)
    await requireStorage({
      before: inherited.bodyStorage,
      after: given.settings?.bodyStorage,
      field: 'options.settings.bodyStorage',
    })
  const token = newSecret()
  const session: NewSession = {
    id: newId(),
    kind: given.kind,
    digest: digestSecret(token) ?? Buffer.alloc(0),
    providers,
    passwordImap: passwordImap && given.kind === 'hosted',
    microsoftCloud,
    appIds,
    redirectUri: given.redirectUri ?? null,
    returnState: given.state ?? null,
    externalRef: given.externalRef ?? null,
    loginHint: given.loginHint ?? null,
    settings,
    wantsShared,
    isReconnect: account !== null,
    accountId: account?.id ?? null,
    ttlSeconds: given.ttlSeconds,
  }
  return { session, token }
}

/** The listed URIs were checked when they were set; they are checked again here, since browsers are sent there. */
function requireRedirectUri({ redirectUris }: TenantSettings, uri: string | undefined): void {
  if (uri !== undefined && !(redirectUris.includes(uri) && isRedirectUri(uri))) {
    refuse('redirect_uri_not_allowed')
  }
}

async function requireLiveAccount(db: Db, tenantId: string, id: string): Promise<AccountRow> {
  const account = (await findAccount(db, tenantId, id)) ?? refuse('unknown_account', { ids: [id] })
  // Neither has a grant of its own that a user could renew.
  if (account.auth_method === 'delegate') refuse('shared_mailbox_account')
  if (account.auth_method === 'org_connection') refuse('org_connection_account')
  return account
}

async function findConfigured(
  { signIns, ...services }: Omit<FlowServices, 'requireStorage'> & { db: Db },
  candidates: readonly OAuthProvider[],
  choosing: Choosing,
): Promise<OAuthProvider[]> {
  const found: OAuthProvider[] = []
  for (const provider of candidates) {
    const app = signIns.offers(provider) ? await chooseApp(services, provider, choosing) : null
    if (app && signIns.at(app)) found.push(provider)
  }
  return found
}

/** Whether users are asked for mailboxes of others. Providers without such mailboxes ignore that. */
async function planShared(
  db: Db,
  tenantId: string,
  { given, providers }: { given: GivenFlow; providers: readonly OAuthProvider[] },
): Promise<boolean> {
  const isAsked =
    given.settings?.sharedMailboxesEnabled === true &&
    providers.some(one => abilitiesOf(signInAbilitiesOf(one).makes).hasSharedMailboxes)
  if (isAsked && !(await findModule(db, tenantId, 'sharedMailboxes'))) refuse('plan_module_unavailable')
  return isAsked
}

async function planOwnSettings(
  db: Db,
  tenantId: string,
  inherited: TenantSettings,
  { given, providers }: { given: GivenFlow; providers: readonly OAuthProvider[] },
): Promise<AccountSettingsOverride> {
  if (!given.settings) return {}
  const { sharedMailboxesEnabled: _, ...settings } = given.settings
  const { bodyStorage } = settings
  await requireBodyStorage(db, tenantId, { before: inherited.bodyStorage, after: bodyStorage })
  const [first] = providers
  const provider: AccountKind = first ? signInAbilitiesOf(first).makes : 'imap'
  const bearer = { provider, imap: null, settings_override: {} }
  // `planShared` decides about it, unless nobody signs in.
  return planSettings(inherited, bearer, { settings: first ? settings : given.settings })
}
