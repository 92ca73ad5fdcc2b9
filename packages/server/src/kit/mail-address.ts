import { domainToASCII } from 'node:url'

/* Addresses of the form `dot-atom@domain`, which were checked where they came in. */

/** An address as it stands in a header or an envelope: the local part as written, the domain as A-labels. */
export function wireAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`
}

/** Whether the local part is beyond ASCII, so that only servers with SMTPUTF8 (RFC 6531) take the address. */
export function needsSmtpUtf8(address: string): boolean {
  return /[^\0-\u007f]/.test(address.slice(0, address.lastIndexOf('@')))
}
