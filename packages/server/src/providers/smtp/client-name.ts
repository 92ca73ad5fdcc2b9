import { isGlobalUnicast } from '../../kit/egress/address.ts'
import { parseHost } from '../../kit/egress/host.ts'

/** A name for EHLO that reveals nothing about the machine. */
export const UNNAMED = '[127.0.0.1]'
/** RFC 6761, RFC 6762, RFC 8375 and RFC 9476: names that mean something on this network only. */
const LOCAL = /(?:^|\.)(?:localhost|local|internal|lan|home|home\.arpa|invalid|test|example|alt)$/

/**
 * The name for EHLO: the host of the address at which clients reach the service, if that is public. The name of the
 * machine is never sent.
 */
export function clientName(baseUrl: string | null): string {
  const host = baseUrl && URL.canParse(baseUrl) ? parseHost(new URL(baseUrl).hostname) : null
  if (!host) return UNNAMED
  // RFC 5321 section 4.1.3.
  if (host.address) {
    if (!isGlobalUnicast(host.address)) return UNNAMED
    return host.name.includes(':') ? `[IPv6:${host.name}]` : `[${host.name}]`
  }
  return host.name.includes('.') && !LOCAL.test(host.name) ? host.name : UNNAMED
}
