import { comparedAddress } from '../../../kit/compared-address.ts'

/*
 * The words of a server without the names in them: `info@nospam.example` does not mean that anything is spam.
 */

/** The addresses and servers that a failure is about. */
export interface Names {
  /** Every spelling of the recipient. */
  addresses?: readonly string[]
  senders?: readonly string[]
  /** Servers that reported, or that passed the message on. */
  hosts?: readonly string[]
}

const ADDRESS = /[<([{"']?[^\s<>()[\]{}:;,"'|=*]{1,64}@[^\s<>()[\]{}:;,"'|=*@]{1,255}[>)\]}"']?/gu
/** A name with dots; `quoted` shows that the words after it are that server's own. */
const HOST =
  /(?<host>\b(?:host|talking to)[ \t]{1,3})?(?<![\p{L}\p{N}_.-])(?<name>[\p{L}\p{N}_-]{1,63}(?:\.[\p{L}\p{N}_-]{1,63}){1,10})(?![\p{L}\p{N}_-])(?<quoted>\.? ?\[[\d.:a-f]{2,45}\]|(?= (?:said|says|responded|replied)\b| #[45]\.))?/giu

/** A text without addresses, without the servers of a failure, and without the local parts of its addresses. */
export function withoutNames(text: string, { addresses = [], senders = [], hosts = [] }: Names): string {
  const parties = [...new Set([...addresses, ...senders].map(comparedAddress))]
  const domains = [
    ...parties.map(address => address.slice(address.lastIndexOf('@') + 1)),
    ...hosts.map(siteOf),
  ]
  const isNamed = (name: string) => domains.some(domain => name === domain || name.endsWith(`.${domain}`))
  const bare = text.replaceAll(ADDRESS, ' ').replaceAll(HOST, (whole: string, ...rest: unknown[]) => {
    // The last argument of a replacer is the named groups.
    const { host, name = '', quoted } = rest.at(-1) as Record<string, string | undefined>
    const isOurs = host !== undefined || quoted !== undefined || isNamed(name.toLowerCase())
    return isOurs ? `${host ?? ''} ${quoted ?? ''}` : whole
  })
  return parties.reduce(withoutLocalPart, bare).replaceAll(/\s+/g, ' ').trim()
}

/** The domain that a server shares with its neighbours: `example.org` for `mx1.example.org` and `mx2.example.org`. */
function siteOf(host: string): string {
  const labels = host.toLowerCase().split('.')
  return (labels.length > 2 ? labels.slice(1) : labels).join('.')
}

/** Removes a local part that stands alone where servers name a user: in brackets, or before the words about it. */
function withoutLocalPart(text: string, address: string): string {
  const local = address.slice(0, Math.max(0, address.lastIndexOf('@')))
  if (local === '' || !text.toLowerCase().includes(local)) return text
  const escaped = local.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
  const named = String.raw`[<("'[]${escaped}[>)"'\]]|(?<![\p{L}\p{N}.])${escaped}(?= (?:wasn.t|was not|isn.t|is not|does|couldn.t|could not|not (?:found|listed)))`
  return text.replaceAll(new RegExp(named, 'giu'), ' ')
}
