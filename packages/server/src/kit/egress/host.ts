import { domainToASCII } from 'node:url'
import { type AddressBytes, parseAddress } from './address.ts'

export interface HostName {
  /** Lower-case ASCII without a final dot, or the canonical spelling of the address that was given. */
  name: string
  /** Set when the host is an address rather than a name. */
  address: AddressBytes | null
}

const NAME_CHARACTERS_MAX = 253
const NAME_PATTERN = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Reads a host: a name (also in Unicode), an address, an IPv6 address in brackets. Null if it is none of them. A name
 * whose last label is a number (decimal, octal or hexadecimal) is refused: resolvers read such names as IPv4 in its
 * many old spellings (WHATWG URL, "ends in a number").
 */
export function parseHost(text: string): HostName | null {
  const bare = /^\[(.*)\]$/.exec(text)?.[1]
  const address = parseAddress(bare ?? text)
  if (address) return bare !== undefined && !text.includes(':') ? null : { name: bare ?? text, address }
  if (bare !== undefined || text.length > NAME_CHARACTERS_MAX * 4 || !/^[^\s\p{C}/?#@:\\%[\]]+$/u.test(text))
    return null

  const name = domainToASCII(text).toLowerCase().replace(/\.$/, '')
  if (name.length > NAME_CHARACTERS_MAX || !NAME_PATTERN.test(name)) return null
  const lastLabel = name.slice(name.lastIndexOf('.') + 1)
  return /^(?:\d+|0x[0-9a-f]*)$/.test(lastLabel) ? null : { name, address: null }
}
