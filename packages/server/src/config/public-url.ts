import { isGlobalUnicast, parseAddress } from '../kit/egress/address.ts'

/** Names that are never on the internet (RFC 6761, RFC 6762, RFC 9476), and names without a dot. */
const PRIVATE_NAME = /^(?:[^.]+|.*\.(?:localhost|test|local|internal))$/

/** Whether strangers may reach this URL: an address on the internet, or a name that could be registered. */
export function isPublicUrl(url: string): boolean {
  const name = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const address = parseAddress(name)
  return address ? isGlobalUnicast(address) : !PRIVATE_NAME.test(name)
}
