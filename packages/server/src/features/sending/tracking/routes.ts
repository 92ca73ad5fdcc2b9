import { askThroughOutage } from '../../../database/outage.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../../pages/public-route.ts'
import type { Links } from '../links.ts'
import { findSign } from './machines.ts'
import type { FoundSend, ItemNotes, NewItem } from './note-items.ts'
import { openLinks } from './sealed-links.ts'
import { HONEYPOT, readClickToken, readOpenToken, type TrackedLink } from './track-html.ts'

export interface TrackingRoutes {
  accountKeys: AccountKeys
  links: Links
  notes: ItemNotes
  /** Whether addresses are kept. */
  keepsAddresses: boolean
}

// GIF89a, one transparent pixel.
const PIXEL = new Uint8Array(
  Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
)
const CLIENT_BYTES = 8
/** Seconds for which a click waits for a database that is away: without it, the target of the link is unknown. */
const CLICK_WAIT_SECONDS = 2
/** All 16 bytes of an IPv4 address in IPv6, in hex; of IPv6 the group is shorter. */
const IPV4_GROUP_LENGTH = 32

/** `/t/o/{id}.gif`, the pixel, and `/t/c/{id}`, the links of a tracked message. */
export function trackingRoutes(options: TrackingRoutes): PublicRoute[] {
  const { accountKeys, links, notes } = options
  const note = (request: PublicRequest, link: TrackedLink): Promise<FoundSend | null> =>
    notes.note(itemOf(request, link, options))

  return [
    {
      path: '/t/o/{id}.gif',
      isLink: true,
      form: null,
      async serve(request) {
        const link = readOpenToken(links.tokens, request.token)
        if (!link || !(await note(request, link))) return null
        return { status: 200, headers: { 'content-type': 'image/gif' }, body: PIXEL }
      },
    },
    {
      path: '/t/c/{id}',
      isLink: true,
      form: null,
      async serve(request) {
        const link = readClickToken(links.tokens, request.token)
        const found = link && (await askThroughOutage(() => note(request, link), CLICK_WAIT_SECONDS))
        if (!link || !found) return null
        // Nothing to see there: a person who gets to it stays where they are.
        if (link.index === HONEYPOT) return { status: 204 }
        return redirect(openLinks(accountKeys, found.account, link.outboxId, found.links)[link.index ?? -1])
      },
    },
  ]
}

/** Redirects only to an HTTP URL that was in the message. */
function redirect(url: string | undefined): PublicAnswer | null {
  const target = url === undefined ? null : URL.parse(url)
  if (!target || !/^https?:$/.test(target.protocol)) return null
  return { status: 302, headers: { location: target.href } }
}

function itemOf(
  request: PublicRequest,
  { outboxId, index }: TrackedLink,
  { links, keepsAddresses }: TrackingRoutes,
): NewItem {
  const { client, userAgent } = request
  const isHoneypot = index === HONEYPOT
  return {
    outboxId,
    kind: index === null ? 'open' : isHoneypot ? 'honeypot' : 'click',
    link: isHoneypot ? null : index,
    client: clientOf(links, outboxId, client.group),
    sign: findSign({ userAgent, address: client.address, purpose: request.purpose }),
    userAgent: userAgent === null ? null : cleanText(userAgent),
    ip: keepsAddresses ? client.address : null,
    // HEAD only previews the answer of GET, so it does not count.
    isNoted: request.method === 'GET',
  }
}

/** A digest of the network that a request comes from. It is another one for each message. */
function clientOf({ tokens }: Links, outboxId: string, group: string): Buffer {
  // The /24 of an IPv4 address, so that even the holder of the key learns no address.
  const network = group.length === IPV4_GROUP_LENGTH ? group.slice(0, -2) : group
  return tokens.digest(`${outboxId} ${network}`).subarray(0, CLIENT_BYTES)
}

function cleanText(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ').trim()
}
