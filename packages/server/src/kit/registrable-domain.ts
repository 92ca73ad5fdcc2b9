import { getDomain } from 'tldts'

/**
 * The domain of a host name that one owner registered. Names below a public suffix are of different owners, also if the
 * suffix is a company's (`github.io`). A host that has no such domain, such as an address, stands for itself.
 */
export function registrableDomainOf(host: string): string {
  return getDomain(host, { allowPrivateDomains: true }) ?? host
}
