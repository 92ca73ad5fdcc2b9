import { existsSync } from 'node:fs'
import path from 'node:path'
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
import { ProviderFailure } from '../../providers/failure.ts'
import { signInAbilitiesOf } from '../../providers/abilities.ts'
import { operatorsApps } from '../../providers/operators-apps.ts'
import { ProviderCalls } from '../../providers/http/provider-calls.ts'
import type { SignIn } from '../../providers/sign-in.ts'
import { findStandIns } from '../../start/stand-ins.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

const APPS_MAX = 1000
/** Apps that their provider is asked about. */
const ASKED_MAX = 20
const ASK_SECONDS = 20
const STORE_AGAIN = 'Store its secret again with PATCH /v1/oauth-apps/{appId}.'

/** An app whose secret can be read, with how to name it to people. */
interface Named {
  name: string
  client: OAuthClient
  /** The remedy if the provider does not accept it. */
  remedy: string
}

/** Whether the secrets of OAuth apps can be read, and whether the providers accept the apps. */
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
      const remedy = `Correct ${settings.id} and ${settings.secret}.`
      readable.push({ name: `The app of ${settings.id}`, client, remedy })
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
  const signIns = openSignIns({ calls, standIns }).all()
  const found = await Promise.all(signIns.map(signIn => askAbout(signIn, config, apps)))
  return found.flat()
}

/** Asks a provider about those of the apps that are its own, in one of its clouds. */
async function askAbout(signIn: SignIn, config: Config, apps: readonly Named[]): Promise<Finding[]> {
  const { provider, cloud } = signIn.place
  const { name: ofProvider } = signInAbilitiesOf(provider)
  const baseUrl = config.baseUrl ?? `http://${config.host}:${config.port}`
  const redirectUri = callbackUrl(baseUrl, provider)
  const asked = apps.filter(({ client }) => client.provider === provider && client.cloud === cloud)
  const answers = await Promise.all(asked.map(app => ask(signIn, { ...app, ofProvider, redirectUri })))
  const accepted = answers.filter(answer => answer === null).length
  return [
    ...(accepted > 0 ? [ok('OAuth apps', `Apps that ${ofProvider} accepts: ${accepted}`)] : []),
    ...answers.filter(answer => answer !== null),
  ]
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
      return wrong('OAuth apps', `${name}: ${ofProvider} does not accept its client id and secret.`, remedy)
    }
    return warning('OAuth apps', `${name}: Whether ${ofProvider} accepts it is not known. ${message}`)
  }
}
