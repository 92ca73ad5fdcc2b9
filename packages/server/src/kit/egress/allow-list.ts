import { type AddressBytes, type AddressRange, isWithin, parseRange } from './address.ts'
import { type HostName, parseHost } from './host.ts'

/** Targets that the operator allows although they are private or on an unusual port. */
export interface EgressAllowList {
  hosts: Array<{ name: string; port: number | null }>
  ranges: Array<{ range: AddressRange; port: number | null }>
}

/**
 * Reads one entry of `WAXWING_EGRESS_ALLOW`: `host`, `host:port`, an address (IPv6 in brackets where a port follows) or
 * a CIDR. Throws an `Error` that says what is wrong.
 */
export function parseEgressAllow(entries: readonly string[]): EgressAllowList {
  const list: EgressAllowList = { hosts: [], ranges: [] }
  for (const entry of entries) {
    const range = parseRange(entry)
    if (range) {
      list.ranges.push({ range, port: null })
      continue
    }
    const [, text = entry, portText] = /^(.*?)(?::(\d{1,5}))?$/.exec(entry) ?? []
    const host = parseHost(text)
    const port = portText === undefined ? null : Number(portText)
    if (!host || port === 0 || (port ?? 1) > 65_535) {
      throw new Error(`${JSON.stringify(entry)} is neither a host, host:port nor a CIDR`)
    }
    if (host.address) list.ranges.push({ range: { bytes: host.address, prefixBits: 128 }, port })
    else list.hosts.push({ name: host.name, port })
  }
  return list
}

export function isHostAllowed(list: EgressAllowList, host: HostName, port: number): boolean {
  return list.hosts.some(entry => entry.name === host.name && (entry.port ?? port) === port)
}

export function isAddressAllowed(list: EgressAllowList, address: AddressBytes, port: number): boolean {
  return list.ranges.some(entry => isWithin(address, entry.range) && (entry.port ?? port) === port)
}
