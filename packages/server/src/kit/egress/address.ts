import { isIPv4, isIPv6 } from 'node:net'

/** An address as 16 bytes; IPv4 as `::ffff:a.b.c.d` (RFC 4291 section 2.5.5.2). */
export type AddressBytes = Uint8Array

export interface AddressRange {
  bytes: AddressBytes
  /** Prefix length within the 16 bytes: for IPv4, its prefix length plus 96. */
  prefixBits: number
}

const IPV4_MAPPED_BITS = 96
const ADDRESS_BITS = 128

/**
 * Reads the canonical spellings of an address: four decimal numbers, or RFC 4291 with or without a dotted tail. Null
 * for everything else: octal, hexadecimal and short IPv4, zone ids, brackets, names.
 */
export function parseAddress(text: string): AddressBytes | null {
  if (isIPv4(text)) return mappedIPv4(text)
  if (!isIPv6(text) || text.includes('%')) return null

  // `isIPv6` has checked the grammar, so only the value has to be computed.
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  const tail = dotted?.[2]?.split('.').map(Number) ?? []
  const [head = '', rest] = (dotted?.[1]?.replace(/([^:]):$/, '$1') ?? text).split('::')
  const words = (part: string) => part.split(':').filter(word => word !== '')
  const bytesOf = (part: string) =>
    words(part).flatMap(word => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 0xff])
  const front = bytesOf(head)
  const back = [...bytesOf(rest ?? ''), ...tail]
  const bytes = new Uint8Array(16)
  bytes.set(front, 0)
  bytes.set(back, 16 - back.length)
  return bytes
}

/** Reads `address/bits`, or an address as a range of one. Null for anything else. */
export function parseRange(text: string): AddressRange | null {
  const [address = '', bits, ...more] = text.split('/')
  const bytes = parseAddress(address)
  if (!bytes || more.length > 0) return null
  if (bits === undefined) return { bytes, prefixBits: ADDRESS_BITS }
  if (!/^\d{1,3}$/.test(bits)) return null
  const prefixBits = Number(bits) + (isIPv4(address) ? IPV4_MAPPED_BITS : 0)
  return prefixBits <= ADDRESS_BITS ? { bytes, prefixBits } : null
}

export function isWithin(address: AddressBytes, range: AddressRange): boolean {
  const wholeOctets = range.prefixBits >> 3
  for (let at = 0; at < wholeOctets; at += 1) if (address[at] !== range.bytes[at]) return false
  const rest = range.prefixBits & 7
  if (rest === 0) return true
  const mask = (0xff << (8 - rest)) & 0xff
  return ((address[wholeOctets] ?? 0) & mask) === ((range.bytes[wholeOctets] ?? 0) & mask)
}

export function isSameAddress(one: AddressBytes, other: AddressBytes): boolean {
  return isWithin(one, { bytes: other, prefixBits: ADDRESS_BITS })
}

/**
 * The IPv4 address that is embedded in an IPv6 address, as 16 bytes, or else the address itself. These are the forms
 * in which packets reach the embedded address: mapped and compatible (RFC 4291 section 2.5.5), the well-known prefix
 * of NAT64 (RFC 6052 section 2.1), 6to4 (RFC 3056 section 2), Teredo (RFC 4380 section 4, inverted) and ISATAP (RFC
 * 5214 section 6.1).
 */
function embeddedAddress(address: AddressBytes): AddressBytes {
  const at = embeddedAt(address)
  if (at === null) return address
  const inverted = isWithin(address, TEREDO) ? 0xff : 0
  return mapped([0, 1, 2, 3].map(offset => (address[at + offset] ?? 0) ^ inverted))
}

function embeddedAt(address: AddressBytes): number | null {
  if (isWithin(address, SIX_TO_FOUR)) return 2
  if (isWithin(address, TEREDO) || isWithin(address, NAT64)) return 12
  // The unspecified address and ::1 embed nothing.
  if (isWithin(address, COMPATIBLE) && address.subarray(12, 15).some(byte => byte !== 0)) return 12
  const isIsatap = (address[8] === 0 || address[8] === 2) && address[9] === 0 && address[10] === 0x5e
  return isIsatap && address[11] === 0xfe ? 12 : null
}

/**
 * Whether an address is global unicast: not reserved by the IANA special-purpose registries (RFC 6890 and its
 * updates). Everything else is denied: of IPv6, only 2000::/3 is allocated.
 */
export function isGlobalUnicast(address: AddressBytes): boolean {
  const embedded = embeddedAddress(address)
  if (embedded !== address && !isGlobalUnicast(embedded)) return false
  if (isWithin(address, IPV4_MAPPED)) return !SPECIAL_IPV4.some(range => isWithin(address, range))
  if (isWithin(address, NAT64)) return true
  return isWithin(address, ALLOTTED_IPV6) && !SPECIAL_IPV6.some(range => isWithin(address, range))
}

function mappedIPv4(text: string): AddressBytes {
  return mapped(text.split('.').map(Number))
}

function mapped(tail: readonly number[]): AddressBytes {
  const bytes = new Uint8Array(16)
  bytes.set([0xff, 0xff], 10)
  bytes.set(tail, 12)
  return bytes
}

function knownRange(text: string): AddressRange {
  const parsed = parseRange(text)
  if (!parsed) throw new Error(`Not a range of addresses: ${text}`)
  return parsed
}

const IPV4_MAPPED = knownRange('::ffff:0:0/96')
const COMPATIBLE = knownRange('::/96')
const NAT64 = knownRange('64:ff9b::/96')
const SIX_TO_FOUR = knownRange('2002::/16')
const TEREDO = knownRange('2001::/32')
const ALLOTTED_IPV6 = knownRange('2000::/3')

// https://www.iana.org/assignments/iana-ipv4-special-registry, with multicast (RFC 5771).
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(knownRange)

// https://www.iana.org/assignments/iana-ipv6-special-registry, the part within 2000::/3.
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'].map(
  knownRange,
)
