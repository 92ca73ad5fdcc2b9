import { existsSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { openSignIns, SIGN_IN_PROVIDERS } from '../../connections/kinds/sign-ins.ts'
import { findMissing } from '../../database/migrate.ts'
import type { Database } from '../../database/pool.ts'
import { type OAuthClient, openOAuthClients } from '../../accounts/apps/clients.ts'
import { callbackUrl } from '../../features/accounts/oauth-apps/present.ts'
import { type CountedApp, listEveryApp } from '../../accounts/apps/store.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { FIRST_ID } from '../../kit/ids.ts'
import { environmentKeyRing, type KeyRing } from '../../kit/key-ring.ts'
import { fileKeyRing } from '../../kit/key-ring-file.ts'
import { openLog } from '../../kit/log.ts'
import { expiryOf } from '../../kit/rsa-certificate.ts'
import { halvesOfScopes } from '../../providers/granted-halves.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { signInAbilitiesOf } from '../../providers/abilities.ts'
import { operatorsApps } from '../../providers/operators-apps.ts'
import { ProviderCalls } from '../../providers/http/provider-calls.ts'
import type { OAuthProvider, SignIn, SignIns } from '../../providers/sign-in.ts'
import { findStandIns } from '../../start/stand-ins.ts'
import { checkPushes } from './check-pushes.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

const APPS_MAX = 1000
/** Apps that their provider is asked about. */
const ASKED_MAX = 20
const ASK_SECONDS = 20
const STORE_AGAIN = 'Store its secret or certificate again with PATCH /v1/oauth-apps/{appId}.'
/** A certificate that expires within this time is reported. */
const EXPIRY_DAYS = 30
const DAY_MS = 86_400_000

/** An app whose secret can be read, with how to name it to people. */
interface Named {
  name: string
  client: OAuthClient
  /** The remedy if the provider does not accept it. */
  remedy: string
}

/** Whether the secrets of OAuth apps can be read, whether the providers accept the apps, and whether they can push. */
export async function checkOAuthApps(config: Config, { db, pool }: Database): Promise<Finding[]> {
  try {
    if ((await findMissing(pool))?.length !== 0) return []
    const keyRing = openKeyRing(config)
    // The check of the sealing key reports that.
    if (!keyRing) return []
    const apps = await listEveryApp(db, FIRST_ID, APPS_MAX)
    const operators = operatorsApps(config)
    if (apps.length === 0 && operators.length === 0) {
      const names = SIGN_IN_PROVIDERS.map(provider => signInAbilitiesOf(provider).name).join(' or ')
      return [ok('OAuth apps', `There are none, so users cannot sign in with ${names}.`)]
    }
    const clients = await openOAuthClients(db, keyRing, config)
    const readable: Named[] = []
    const findings: Finding[] = []
    for (const { provider, cloud, settings } of operators) {
      const client = await clients.find(db, FIRST_ID, { provider, cloud, appId: null })
      if (typeof client === 'string') continue
      const remedy = `Correct ${settings.slice(0, -1).join(', ')} and ${settings.at(-1)}.`
      readable.push({ name: `The app of ${settings[0]}`, client, remedy })
    }
    for (const app of apps) {
      const client = await clients.find(db, app.tenantId, { ...app, appId: app.id })
      const name = nameOf(app)
      if (typeof client !== 'string') readable.push({ name, client, remedy: STORE_AGAIN })
      else findings.push(wrong('OAuth apps', `${name}: its secret cannot be read.`, STORE_AGAIN))
    }
    return [
      ok('OAuth apps', `Apps whose secret can be read: ${readable.length}`),
      ...findings,
      ...readable.flatMap(findExpiry),
      ...(await findUnasked(db, apps)),
      ...checkPushes(
        config,
        readable.map(({ client }) => client),
      ),
      ...(await askProviders(config, readable.slice(0, ASKED_MAX))),
    ]
  } catch (error) {
    return [wrong('OAuth apps', wordsOf(error))]
  }
}

function openKeyRing({ secretKey, dataDir }: Config): KeyRing | null {
  if (secretKey) return environmentKeyRing(secretKey.reveal())
  return existsSync(path.join(dataDir, 'secret.key')) ? fileKeyRing(dataDir, { mayCreate: false }) : null
}

function nameOf({ id, name, accounts }: CountedApp): string {
  return `The app ${JSON.stringify(name)} (${id}), accounts: ${accounts}`
}

async function askProviders(config: Config, apps: readonly Named[]): Promise<Finding[]> {
  if (apps.length === 0) return []
  const log = openLog({ level: 'silent', format: 'json', destination: process.stderr })
  const standIns = await findStandIns(config.sandboxUrl, log)
  await using calls = new ProviderCalls({
    guard: egressGuard({ allow: parseEgressAllow(config.egressAllow) }),
    authorities: trustAlso(config.certificateAuthorities),
    standIns,
  })
  const signIns = openSignIns({ calls, standIns })
  const baseUrl = config.baseUrl ?? `http://${config.host}:${config.port}`
  const findings = await Promise.all(
    SIGN_IN_PROVIDERS.map(provider => {
      const own = apps.filter(({ client }) => client.provider === provider)
      return askAbout(own, signIns, { provider, redirectUri: callbackUrl(baseUrl, provider) })
    }),
  )
  return findings.flat()
}

/** Asks a provider about its apps, each in its own cloud. */
async function askAbout(
  apps: readonly Named[],
  signIns: SignIns,
  { provider, redirectUri }: { provider: OAuthProvider; redirectUri: string },
): Promise<Finding[]> {
  const { name: ofProvider } = signInAbilitiesOf(provider)
  const asked = await Promise.all(
    apps.map(async app => {
      const signIn = signIns.at(app.client)
      return signIn ? { app, refused: await ask(signIn, { ...app, ofProvider, redirectUri }) } : null
    }),
  )
  const answers = asked.filter(answer => answer !== null)
  // In the order of the apps, not of the answers.
  const accepted = new Map<string, number>()
  for (const { app, refused } of answers) {
    if (refused) continue
    const { cloud } = app.client
    const where = cloud === null ? ofProvider : `${ofProvider} (${cloud})`
    accepted.set(where, (accepted.get(where) ?? 0) + 1)
  }
  return [
    ...[...accepted].map(([where, count]) => ok('OAuth apps', `Apps that ${where} accepts: ${count}`)),
    ...answers.flatMap(({ refused }) => refused ?? []),
  ]
}

/** Warns of apps whose own scopes leave out contacts, which are switched on. */
async function findUnasked(db: Database['db'], apps: readonly CountedApp[]): Promise<Finding[]> {
  const { rows } = await sql<{ id: string }>`
    select oauth_app.id from oauth_app join tenant on tenant.id = tenant_id
    where scopes is not null and (tenant.settings ->> 'contactsEnabled' = 'true' or exists (
      select from account where account.tenant_id = oauth_app.tenant_id and oauth_app_id = oauth_app.id
        and deleted_at is null and account.settings_override ->> 'contactsEnabled' = 'true'))
  `.execute(db)
  const wanting = new Set(rows.map(({ id }) => id))
  return apps
    .filter(
      ({ id, scopes, ...place }) =>
        wanting.has(id) && halvesOfScopes(place, scopes ?? [], false).contacts === 'none',
    )
    .map(app =>
      warning(
        'OAuth apps',
        `${nameOf(app)}: contacts are switched on, and its scopes do not ask for them.`,
        'Add the scope for contacts with PATCH /v1/oauth-apps/{appId}, and have the users sign in again.',
      ),
    )
}

/** Warns of a certificate that expires soon, or has expired. */
function findExpiry({ name, client: { credential }, remedy }: Named): Finding[] {
  const expiry = credential.type === 'certificate' ? expiryOf(credential.certificate) : null
  if (expiry === null || expiry.getTime() > Date.now() + EXPIRY_DAYS * DAY_MS) return []
  const day = expiry.toISOString().slice(0, 10)
  return expiry.getTime() > Date.now()
    ? [warning('OAuth apps', `${name}: its certificate expires on ${day}.`, remedy)]
    : [wrong('OAuth apps', `${name}: its certificate expired on ${day}.`, remedy)]
}

/** Offers a code that nobody was given: only who is told that the code is wrong is known as a client. */
async function ask(
  signIn: SignIn,
  { name, client, remedy, ofProvider, redirectUri }: Named & { ofProvider: string; redirectUri: string },
): Promise<Finding | null> {
  const request = {
    client,
    redirectUri,
    code: 'waxwing-doctor',
    codeVerifier: 'x'.repeat(43),
    nonce: '',
    scopes: [],
  }
  try {
    await signIn.exchange(request, AbortSignal.timeout(ASK_SECONDS * 1000))
    return warning('OAuth apps', `${name}: ${ofProvider} took a code that it never gave.`)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    const { kind, message } = error
    if (kind === 'grant_refused') return null
    if (kind === 'misconfigured') {
      return wrong(
        'OAuth apps',
        `${name}: ${ofProvider} does not accept its client id and ${credentialOf(client)}.`,
        remedy,
      )
    }
    return warning('OAuth apps', `${name}: Whether ${ofProvider} accepts it is not known. ${message}`)
  }
}

function credentialOf({ credential: { type } }: OAuthClient): string {
  return type === 'secret' ? 'secret' : 'certificate'
}
