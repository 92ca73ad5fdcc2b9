import type { Secret } from '../kit/secret.ts'
import type { ClientCredential, Cloud, SignInClient, SignInPlace } from './sign-in.ts'

/** Beginnings of the keys of settings of Microsoft's apps, with their clouds. */
const MICROSOFT = {
  microsoft: 'global',
  microsoftGccHigh: 'gcc-high',
  microsoftDod: 'dod',
  microsoftChina: 'china',
} as const satisfies Readonly<Record<string, Cloud>>

type MicrosoftApp = keyof typeof MICROSOFT
type MicrosoftApps = Partial<
  Record<`${MicrosoftApp}${'ClientId' | 'Certificate'}`, string | null> &
    Record<`${MicrosoftApp}${'ClientSecret' | 'PrivateKey'}`, Secret | null>
>

/** The settings of the operator's OAuth apps. */
export interface OperatorsApps extends MicrosoftApps {
  googleClientId: string | null
  googleClientSecret: Secret | null
}

/** An OAuth app of the operator, with the names of the settings that it comes from. */
export interface OperatorsApp extends SignInClient, SignInPlace {
  settings: readonly string[]
}

/** The OAuth apps of the operator, at most one for a provider and cloud. */
export function operatorsApps(config: OperatorsApps): readonly OperatorsApp[] {
  const { googleClientId: clientId, googleClientSecret: secret } = config
  const prefix = 'WAXWING_GOOGLE'
  const google = appOf(clientId, secret && { type: 'secret', secret }, {
    provider: 'google',
    cloud: null,
    prefix,
  })
  return [google, ...Object.keys(MICROSOFT).map(key => microsoftApp(config, key as MicrosoftApp))].filter(
    app => app !== null,
  )
}

function microsoftApp(config: OperatorsApps, key: MicrosoftApp): OperatorsApp | null {
  const cloud = MICROSOFT[key]
  const suffix = cloud === 'global' ? '' : `_${cloud.toUpperCase().replace('-', '_')}`
  const place = { provider: 'microsoft' as const, cloud, prefix: `WAXWING_MICROSOFT${suffix}` }
  const secret = config[`${key}ClientSecret`] ?? null
  const certificate = config[`${key}Certificate`] ?? null
  const privateKey = config[`${key}PrivateKey`] ?? null
  const credential: ClientCredential | null = secret
    ? { type: 'secret', secret }
    : certificate !== null && privateKey
      ? { type: 'certificate', certificate, privateKey }
      : null
  return appOf(config[`${key}ClientId`] ?? null, credential, place)
}

function appOf(
  clientId: string | null,
  credential: ClientCredential | null,
  { prefix, ...place }: SignInPlace & { prefix: string },
): OperatorsApp | null {
  if (clientId === null || credential === null) return null
  const suffixes = credential.type === 'secret' ? ['CLIENT_SECRET'] : ['CERTIFICATE_FILE', 'PRIVATE_KEY_FILE']
  const settings = ['CLIENT_ID', ...suffixes].map(name => `${prefix}_${name}`)
  return { ...place, clientId, credential, settings }
}
