import { z } from 'zod'
import { within } from '../../kit/within.ts'
import { ProviderFailure } from '../failure.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { KeysPlace } from '../oauth/issuer-keys.ts'
import { readJson } from '../oauth/read-json.ts'
import type { CloudRow } from './clouds.ts'

/** The document hardly ever changes; hosts of a cloud were renamed within years. */
const KEPT_SECONDS = 24 * 3600
const TENANT = '{tenantid}'
const TID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TID_CHARACTERS = 36

/** OpenID Connect Discovery 1.0 section 3. */
const document = z.object({
  issuer: z.string().max(500),
  token_endpoint: z.url().max(500),
  jwks_uri: z.url().max(500),
})

/**
 * Other names of the login hosts, by which their documents may call them
 * (learn.microsoft.com/entra/identity-platform/authentication-national-cloud). No other host gets a secret or is believed.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  'login.partner.microsoftonline.cn': ['login.chinacloudapi.cn'],
}

/** Where the users of a cloud sign in, and who issues their tokens. */
export interface Metadata {
  /** The issuer of the tokens of a directory. */
  issuerOf(tid: string): string
  /** Whether it issues the tokens of some directory. */
  isIssuer(iss: string): boolean
  keys: KeysPlace
  /** The URL of the token endpoint, which an assertion names as its audience. */
  tokenUrl: string
}

/** The discovery document of a cloud, which is read when it is first needed and kept. */
export class Discovery {
  readonly #calls: ProviderCalls
  readonly #row: CloudRow
  #kept: { metadata: Metadata; until: number } | null = null
  #reading: Promise<Metadata> | null = null

  constructor(calls: ProviderCalls, row: CloudRow) {
    this.#calls = calls
    this.#row = row
  }

  /** Rejects with `unavailable` if there is no document that can be believed when the signal aborts. */
  async find(signal: AbortSignal): Promise<Metadata> {
    if (this.#kept && performance.now() < this.#kept.until) return this.#kept.metadata
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return within(signal, this.#reading).catch((error: unknown) => {
      throw error instanceof ProviderFailure ? error : unavailable(error)
    })
  }

  async #read(): Promise<Metadata> {
    const { login, tenant } = this.#row
    const answer = await this.#calls.call({
      host: login,
      method: 'GET',
      path: `/${tenant}/v2.0/.well-known/openid-configuration`,
      answerBytesMax: 64 * 1024,
      firstByteSeconds: 10,
      wholeSeconds: 10,
    })
    const metadata = answer.status === 200 ? parseDocument(readJson(answer), login) : null
    if (!metadata) throw unavailable()
    this.#kept = { metadata, until: performance.now() + KEPT_SECONDS * 1_000 }
    return metadata
  }
}

function unavailable(cause?: unknown): ProviderFailure {
  return new ProviderFailure('unavailable', 'Microsoft does not describe its sign-in now.', { cause })
}

/**
 * Null if the document is not usable: if it has no issuer for each directory, or leads to a host that is not the cloud's.
 * The issuer itself may have any host.
 */
export function parseDocument(json: unknown, login: string): Metadata | null {
  const { data } = document.safeParse(json)
  if (!data || data.issuer.split(TENANT).length !== 2) return null
  const [keys, tokens] = [new URL(data.jwks_uri), new URL(data.token_endpoint)]
  if (![keys, tokens].every(url => isOf(url, login))) return null
  // All names of a login host lead to the same servers, so only the one that was asked is called.
  const issuerOf = (tid: string) => data.issuer.replace(TENANT, () => tid)
  const before = data.issuer.indexOf(TENANT)
  return {
    issuerOf,
    isIssuer: iss => {
      const tid = iss.slice(before, before + TID_CHARACTERS)
      return TID.test(tid) && iss === issuerOf(tid)
    },
    keys: { host: login, path: keys.pathname + keys.search },
    tokenUrl: data.token_endpoint,
  }
}

function isOf({ protocol, host }: URL, login: string): boolean {
  return protocol === 'https:' && (host === login || (ALIASES[login]?.includes(host) ?? false))
}

/** Path and query of an endpoint that a document names. The host that is called is the cloud's own. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
