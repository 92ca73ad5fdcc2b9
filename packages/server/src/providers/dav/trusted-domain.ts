import { registrableDomainOf } from '../../kit/registrable-domain.ts'

/**
 * The servers that get a password: those of the registrable domain of a URL that the user gave, or that was found
 * without a login.
 */
export interface TrustedDomain {
  domain: string
  /** Whether the URL was one without TLS. Only then may others be. */
  isPlain: boolean
}

export function trustedDomainOf(url: URL): TrustedDomain {
  return { domain: domainOf(url), isPlain: url.protocol === 'http:' }
}

/** Whether a URL may get the password. */
export function isTrusted(url: URL, { domain, isPlain }: TrustedDomain): boolean {
  if (url.protocol !== 'https:' && !(isPlain && url.protocol === 'http:')) return false
  return domainOf(url) === domain
}

function domainOf({ hostname }: URL): string {
  return registrableDomainOf(hostname)
}
