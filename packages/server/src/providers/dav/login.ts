import { type Challenge, readChallenges } from './challenges.ts'
import { chooseDigest, type DigestChallenge, digestAuthorization } from './digest.ts'
import type { AnswerHeaders } from '../http/exchange.ts'

export interface DavLogin {
  user: string
  password: string
}

/** A request that is to be authorized. */
interface Signed {
  method: string
  url: URL
}

/** How a server wants to be logged in to. */
type Scheme = { type: 'basic' } | { type: 'digest'; challenge: DigestChallenge; count: number }

/**
 * How each server of an account wants to be logged in to, so that a request need not be refused first. Kept over the
 * account's connections. Basic is used wherever it is offered, and Digest elsewhere.
 */
export class LoginSchemes {
  readonly #schemes = new Map<string, Scheme>()

  /** The `Authorization` of a request; null until the server has asked for one. */
  authorize({ user, password }: DavLogin, { method, url }: Signed): string | null {
    const scheme = this.#schemes.get(url.origin)
    if (!scheme) return null
    if (scheme.type === 'basic') return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    scheme.count += 1
    const { challenge, count } = scheme
    const uri = url.pathname + url.search
    return digestAuthorization(challenge, { user, password, method, uri, count })
  }

  /**
   * Takes note of a 401.
   * @param used whether the request had an `Authorization`
   * @returns whether the request may be sent again, since the refusal was not for the password
   */
  refused(url: URL, headers: AnswerHeaders, used: string | null): boolean {
    const known = this.#schemes.get(url.origin)
    const challenges = readChallenges(headers['www-authenticate'])
    const next = schemeOf(challenges)
    if (!next) return false
    this.#schemes.set(url.origin, next)
    if (used === null || !known || known.type !== next.type) return true
    if (known.type === 'basic' || next.type === 'basic') return false
    const isStale = challenges.some(({ parameters }) => parameters['stale']?.toLowerCase() === 'true')
    // A nonce that was used before may have ended without a note of it.
    return isStale || (known.count > 1 && known.challenge.nonce !== next.challenge.nonce)
  }

  /** Logs in although nobody asked for it: the server shows strangers another world. */
  useBasic(url: URL): void {
    this.#schemes.set(url.origin, { type: 'basic' })
  }

  knows(url: URL): boolean {
    return this.#schemes.has(url.origin)
  }
}

function schemeOf(challenges: readonly Challenge[]): Scheme | null {
  if (challenges.some(({ scheme }) => scheme === 'basic')) return { type: 'basic' }
  const challenge = chooseDigest(challenges)
  return challenge && { type: 'digest', challenge, count: 0 }
}
