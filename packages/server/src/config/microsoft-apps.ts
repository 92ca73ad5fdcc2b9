import { readFileSync } from 'node:fs'
import { readCertificate } from '../kit/rsa-certificate.ts'
import { Secret } from '../kit/secret.ts'
import { clientId, clientSecret } from './parse.ts'

const PEM_BYTES_MAX = 20_000

/** A setting that may be left out. */
interface Optional<T> {
  name: string
  read: (text: string) => T
  fallback: null
  shown: string
  meaning: string
}

/** Beginnings of the keys of settings, one for each cloud. */
export const MICROSOFT_APPS = ['microsoft', 'microsoftGccHigh', 'microsoftDod', 'microsoftChina'] as const
export type MicrosoftApp = (typeof MICROSOFT_APPS)[number]

type AppSettings<K extends string> = Record<`${K}ClientId` | `${K}Certificate`, Optional<string>> &
  Record<`${K}ClientSecret` | `${K}PrivateKey`, Optional<Secret>>

/** Settings of the operator's app in one of Microsoft's clouds. */
export function microsoftApp<K extends MicrosoftApp>(key: K, prefix: string, cloud: string): AppSettings<K> {
  const setting = <T>(suffix: string, read: (text: string) => T, meaning: string): Optional<T> => ({
    name: `${prefix}_${suffix}`,
    read,
    fallback: null,
    shown: 'none',
    meaning,
  })
  const made = {
    ClientId: setting(
      'CLIENT_ID',
      clientId,
      `Client id of an OAuth app in ${cloud}, for tenants without one of their own.`,
    ),
    ClientSecret: setting(
      'CLIENT_SECRET',
      clientSecret,
      'Client secret of that app. In its place it may have a certificate.',
    ),
    Certificate: setting('CERTIFICATE_FILE', pemFile, 'File with the certificate of that app, in PEM.'),
    PrivateKey: setting(
      'PRIVATE_KEY_FILE',
      text => new Secret(pemFile(text)),
      'File with the private key of the certificate, in PEM.',
    ),
  }
  // The names of computed keys are lost to the compiler.
  return Object.fromEntries(
    Object.entries(made).map(([suffix, value]) => [`${key}${suffix}`, value]),
  ) as AppSettings<K>
}

/** The message does not show the content, which may be a key. */
function pemFile(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    throw new Error(`must name a file in PEM that can be read: ${reason}`, { cause: error })
  }
  if (text.length <= PEM_BYTES_MAX && text.includes('-----BEGIN ')) return text
  throw new Error(`must name a file in PEM, and ${JSON.stringify(path)} is not one`)
}

type Values = Partial<
  Record<`${MicrosoftApp}${'ClientId' | 'Certificate'}`, string | null> &
    Record<`${MicrosoftApp}${'ClientSecret' | 'PrivateKey'}`, Secret | null>
>
type Key = keyof Values

/**
 * Mistakes in these settings: an app without its id or credential, with two of them, or with a certificate whose key is
 * of another one. An expired certificate is none: the service starts, and `waxwing doctor` reports it.
 */
export function problemsOfMicrosoftApps(read: Values, nameOf: (key: Key) => string): string[] {
  return MICROSOFT_APPS.flatMap(app => {
    const keys = (['ClientId', 'ClientSecret', 'Certificate', 'PrivateKey'] as const).map(
      suffix => `${app}${suffix}` as const,
    )
    const given = keys.filter(key => read[key] != null)
    const [id, secret, certificate, privateKey] = keys.map(nameOf)
    if (given.length === 0) return []
    const has = (suffix: string) => given.some(key => key === `${app}${suffix}`)
    if (has('ClientSecret') && (has('Certificate') || has('PrivateKey')))
      return [`${secret} must not be set with ${certificate} and ${privateKey}: an app has one or the other`]
    if (!has('ClientId')) return [`${id} is needed together with ${given.map(nameOf).join(' and ')}`]
    if (has('ClientSecret')) return []
    if (!has('Certificate') && !has('PrivateKey'))
      return [`${secret}, or ${certificate} and ${privateKey}, is needed together with ${id}`]
    if (!has('Certificate')) return [`${certificate} is needed together with ${privateKey}`]
    if (!has('PrivateKey')) return [`${privateKey} is needed together with ${certificate}`]
    const pair = {
      certificate: read[`${app}Certificate`] ?? '',
      privateKey: read[`${app}PrivateKey`]?.reveal() ?? '',
    }
    const problem = readCertificate(pair, new Date(0))
    if (problem === 'invalid_certificate')
      return [`${certificate} must have a certificate with an RSA key of at least 2048 bits`]
    if (problem === 'credential_mismatch') return [`${privateKey} must have the key of ${certificate}`]
    return []
  })
}
