import { isUuid } from '../../../kit/ids.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { Links } from '../links.ts'

/** The content of an unsubscribe link. All of it is authenticated by its token. */
export interface Unsubscribing {
  tenantId: string
  listId: string
  /** As addresses are compared. */
  address: string
  /** The send that has the link. */
  outboxId: string
}

/** The first byte of the content of a token: tokens never expire, so every version is understood for ever. */
const VERSION = 1
const ID_BYTES = 16
const LIST_AT = 1 + 2 * ID_BYTES

/** Whether links can be made that mail programs follow by themselves: RFC 8058 section 3.1 wants HTTPS. */
export function hasUnsubscribeLinks({ base }: Links): boolean {
  return base !== null && base.isPublic && (base.isHttps || base.isPlayed)
}

/** The link by which one recipient of a send leaves the list that it names. */
export function unsubscribeUrl({ base, tokens }: Links, of: Unsubscribing): string {
  if (!base) throw new Error('There is no address for links')
  return `${base.url}/u/${tokens.make('unsubscribe', writeContent(of))}`
}

/** The one recipient of a send to a list, as templates name it. */
export function listRecipient(
  links: Links,
  of: Omit<Unsubscribing, 'address'>,
  { address, name }: { address: string; name?: string | null | undefined },
) {
  return { address, name: name ?? null, unsubscribeUrl: unsubscribeUrl(links, { ...of, address }) }
}

/** The content of the token of a link; null if it is not one of ours. */
export function openUnsubscribeToken({ tokens }: Links, token: string): Unsubscribing | null {
  const content = tokens.open('unsubscribe', token)
  if (content?.[0] !== VERSION) return null
  const listLength = content[LIST_AT] ?? 0
  const addressAt = LIST_AT + 1 + listLength
  return {
    tenantId: readId(content.subarray(1)),
    outboxId: readId(content.subarray(1 + ID_BYTES)),
    listId: content.toString('latin1', LIST_AT + 1, addressAt),
    address: content.toString('utf8', addressAt),
  }
}

function writeContent({ tenantId, listId, address, outboxId }: Unsubscribing): Buffer {
  const list = Buffer.from(listId, 'latin1')
  return Buffer.concat([
    Buffer.of(VERSION),
    writeId(tenantId),
    writeId(outboxId),
    Buffer.of(list.length),
    list,
    Buffer.from(comparedAddress(address), 'utf8'),
  ])
}

function writeId(id: string): Buffer {
  if (!isUuid(id)) throw new Error(`${id} is no UUID`)
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

function readId(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, ID_BYTES)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
