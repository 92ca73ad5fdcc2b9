import { effectiveSettings } from '../../../accounts/settings.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { FairSemaphore } from '../../../kit/fair-semaphore.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { searchIndex } from './index-search.ts'
import type { SureWindows } from '../../../limits/windows.ts'
import { refuse } from '../../../calls/refuse.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import { refuseFailure } from '../../../calls/provider-failure.ts'
import { isUnanswered, searchProvider } from './provider-search.ts'
import { holdsEverything, isCurrent, reachesBehindWindow } from './rules.ts'
import type { SearchInput } from './search-cursor.ts'
import { type Found, SearchPage } from './search-page.ts'

/** A server without a full-text index reads about 10,000 messages a second. */
const PROVIDER_SECONDS = 30
/** If the index can answer instead, the wait for the provider is shorter. */
const AUTO_SECONDS = 10

/** Dependencies of searches besides the database. */
export interface SearchServices {
  connections: Connections
  /** Searches of the index: each may keep a processor busy, so few run at once, and tenants take turns. */
  searches: FairSemaphore
  /** Searches at the provider, in windows of one minute. */
  providerSearches: SureWindows
}

async function countProviderSearch(
  { providerSearches }: SearchServices,
  account: AccountView,
): Promise<void> {
  const { searchesPerMinute: limit } = abilitiesOf(account.provider)
  if (limit === null) return
  const window = { name: `search:${account.id}`, limit }
  const { isAccepted, resetSeconds } = await providerSearches.count([window])
  if (!isAccepted) refuse('rate_limited', undefined, { retryAfterSeconds: resetSeconds })
}

/** Returns a page from the provider. Refuses if it cannot be reached. */
export async function answerFromProvider(
  context: RequestContext,
  services: SearchServices,
  account: AccountView,
  input: SearchInput,
  page: { place: string[] | null; limit: number },
): Promise<SearchPage> {
  await countProviderSearch(services, account)
  try {
    const found = await searchProvider(context, services.connections, account, input, {
      ...page,
      secondsMax: PROVIDER_SECONDS,
    })
    return new SearchPage(found, 'provider')
  } catch (error) {
    return refuseFailure(error, 'search')
  }
}

/** Returns the first page from the source that fits: see the operation's description. */
export async function answerFromEither(
  context: RequestContext,
  services: SearchServices,
  account: AccountView,
  input: SearchInput,
  limit: number,
): Promise<SearchPage> {
  const { connections, searches } = services
  const settings = effectiveSettings(account.tenant_settings, account)
  let indexed: Found | null = null
  if (isCurrent(account) && !reachesBehindWindow(settings, input.filters.after, Date.now())) {
    indexed = await searchIndex(context, searches, input, { place: null, limit })
    const isNothing = indexed.items.length === 0 && indexed.nextCursor === null
    if (!isNothing || holdsEverything(settings)) return new SearchPage(indexed, 'index')
  }
  try {
    await countProviderSearch(services, account)
    const page = { place: null, limit, secondsMax: AUTO_SECONDS }
    return new SearchPage(await searchProvider(context, connections, account, input, page), 'provider')
  } catch (error) {
    if (!isUnanswered(error)) throw error
    context.log.debug({ error, accountId: account.id }, 'The index answers for the provider')
    return new SearchPage(
      indexed ?? (await searchIndex(context, searches, input, { place: null, limit })),
      'index',
    )
  }
}
