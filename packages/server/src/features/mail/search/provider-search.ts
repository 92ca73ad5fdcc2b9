import type { SearchResult } from '@waxwing/contract/mail/search.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { MessageKey, RemoteAddress, RemoteMessage } from '../../../providers/mail.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { SearchPosition } from '../../../providers/search.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { listOwnAddresses } from '../identities/store.ts'
import { directionOf, isDraftIn, type MailAccount } from '../messages/rules.ts'
import type { MessageFilters } from '../messages/store.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { findReceived, findSummaries, listSearched, type SearchedMailbox } from './provider-store.ts'
import { type SearchInput, sealSearchPosition } from './search-cursor.ts'
import type { Found } from './search-page.ts'

type SearchContext = Pick<RequestContext, 'db' | 'tenantId' | 'cursors'>

/**
 * Searches at the account's provider, with a time limit. The filters apply to its answer, so that the page may be short
 * although more follows. Throws a `Refusal` for the account's state, and the `ProviderFailure` of the request.
 * @param place from the cursor of an earlier page; null at the start
 */
export async function searchProvider(
  context: SearchContext,
  connections: Connections,
  account: AccountView,
  input: SearchInput,
  { place, limit, secondsMax }: { place: readonly string[] | null; limit: number; secondsMax: number },
): Promise<Found> {
  const { db } = context
  const { q, filters } = input
  requireConnectable(account)
  const mailboxes = await listSearched(db, account.id, filters.mailboxId)
  const query = {
    text: q,
    places: mailboxes,
    after: filters.after ?? null,
    before: filters.before ?? null,
    position: place && readPlace(place),
    limit,
    secondsWanted: secondsMax / 2,
    known: (mailboxId: string, keys: readonly MessageKey[]) => findReceived(db, mailboxId, keys),
  }
  const { hits, next } = await connections.useInSteps(
    reachedAs(account),
    'search',
    provider => provider.search(query),
    AbortSignal.timeout(secondsMax * 1000),
  )
  const indexed = await findSummaries(
    db,
    account.id,
    hits.filter(({ message }) => message === null),
    filters,
  )
  const own = { addresses: await listOwnAddresses(db, account) }
  const byId = new Map(mailboxes.map(mailbox => [mailbox.id, mailbox]))
  const items = hits.flatMap((hit): string | string[] => {
    const mailbox = byId.get(hit.placeId)
    if (hit.message === null || !mailbox) return indexed.get(hit) ?? []
    const found = presentFound(own, mailbox, hit.message)
    return matches(found, hit.message.bcc, filters) ? [JSON.stringify(found)] : []
  })
  return { items, nextCursor: next && sealSearchPosition(context, input, toPosition(next)) }
}

function toPosition({ receivedAt, placeId, key }: SearchPosition) {
  return { source: 'provider' as const, place: [receivedAt.toISOString(), placeId, JSON.stringify(key)] }
}

/** Written by `toPosition`; it is sealed, so it can have no other source. */
function readPlace([receivedAt = '', placeId = '', key = '']: readonly string[]): SearchPosition {
  return { receivedAt: new Date(receivedAt), placeId, key: JSON.parse(key) as MessageKey }
}

/** Presents a found message as the index will present it, except for the fields that need the index. */
function presentFound(
  account: Pick<MailAccount, 'addresses'>,
  { id, role }: SearchedMailbox,
  message: RemoteMessage,
): SearchResult {
  return {
    id: null,
    threadId: null,
    internetMessageId: message.internetMessageId,
    mailboxIds: [id],
    subject: message.subject,
    from: message.from,
    to: message.to,
    cc: message.cc,
    snippet: message.snippet,
    receivedAt: message.receivedAt.toISOString(),
    sentAt: message.sentAt === null ? null : message.sentAt.toISOString(),
    isRead: message.isRead,
    isFlagged: message.isFlagged,
    isDraft: isDraftIn([{ role }], message.isDraft),
    hasAttachments: message.hasAttachments,
    categories: message.categories,
    direction: directionOf(account, [{ role }], message.from),
    outboxId: null,
    reference: null,
    importance: message.importance,
  }
}

/** The conditions of `findSummaries`, except for the times, which the provider has checked. */
function matches(found: SearchResult, bcc: readonly RemoteAddress[], filters: MessageFilters): boolean {
  const { from, to, unread, flagged, hasAttachments } = filters
  if (from !== undefined && !isAmong(from, found.from ? [found.from] : [])) return false
  if (to !== undefined && !isAmong(to, [...found.to, ...found.cc, ...bcc])) return false
  if (unread !== undefined && found.isRead === unread) return false
  if (flagged !== undefined && found.isFlagged !== flagged) return false
  return hasAttachments === undefined || found.hasAttachments === hasAttachments
}

function isAmong(part: string, addresses: readonly RemoteAddress[]): boolean {
  const wanted = part.toLowerCase()
  return addresses.some(
    ({ name, address }) =>
      address.toLowerCase().includes(wanted) || (name ?? '').toLowerCase().includes(wanted),
  )
}

/** Whether the provider could not answer, so that another source may answer in its place. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ProviderFailure || error instanceof Refusal
}
