import { domainToASCII } from 'node:url'

/**
 * An email address as addresses are compared: whole and in lower case, with the domain as A-labels (RFC 5890 section
 * 2.3.2.1). Tags and dots count. A text that is no address is only put in lower case.
 */
export function comparedAddress(address: string): string {
  const lower = address.toLowerCase()
  const at = lower.lastIndexOf('@')
  const domain = lower.slice(at + 1)
  if (at === -1 || /^[\x00-\x7f]*$/.test(domain)) return lower
  const converted = domainToASCII(domain)
  return converted === '' ? lower : `${lower.slice(0, at)}@${converted}`
}
