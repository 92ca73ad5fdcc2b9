import { integerIn } from '../../google/api/input.ts'
import { readToken, writeToken } from '../../google/api/place-tokens.ts'
import type { MethodCall } from './method.ts'
import { badRequest, fullSyncRequired, invalid } from './refusals.ts'

/** A place up to which a client knows the changes of a calendar or of a list. */
export interface SyncPlace {
  change: number
  generation: number
  /** The resource of the token, and the parameters that later calls must repeat. */
  parameters: string
}

interface PagePlace {
  after: string
  parameters: string
  sync: SyncPlace | null
}

interface Source {
  change: number
  generation: number
}

interface Paging {
  /** The resource that is listed, and the parameters that later calls must repeat. */
  parameters: string
  source: Source
  /** Whether the last page has a token for the next sync. */
  isSync: boolean
  sizes: { standard: number; max: number }
}

/** The place that a sync token names; null without one. Throws the refusal of one that has expired. */
export function sincePlace({ query }: MethodCall, { parameters, source }: Paging): SyncPlace | null {
  const token = query.get('syncToken')
  if (token === null) return null
  const place = readToken<SyncPlace>(token)
  if (typeof place?.change !== 'number') throw invalid('Invalid sync token value.')
  if (place.generation < source.generation || place.change > source.change) throw fullSyncRequired()
  if (place.parameters !== parameters)
    throw badRequest(
      'syncTokenWithNonDefaultOrdering',
      'Sync token is used with other parameters than in the first call.',
      'syncToken',
    )
  return place
}

/** One page of what is listed, in the order of its keys, and the tokens for what follows. */
export function pageOf<Item extends { key: string }>(
  { query, parts }: MethodCall,
  { parameters, source, isSync, sizes }: Paging,
  all: readonly Item[],
): { items: Item[]; tokens: { nextPageToken?: string; nextSyncToken?: string } } {
  const asked = integerIn(query, 'maxResults', sizes.standard, sizes.max)
  const size = Math.min(asked, parts.settings.pageMax ?? asked)
  const token = query.get('pageToken')
  const page = token === null ? null : readToken<PagePlace>(token)
  if (token !== null && (typeof page?.after !== 'string' || page.parameters !== parameters))
    throw invalid('Invalid page token value.')
  // The next sync begins where the first page was made, so that nothing in between is lost.
  const { change, generation } = source
  const sync = page ? page.sync : isSync ? { change, generation, parameters } : null
  const left = all
    .filter(({ key }) => page === null || key > page.after)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const items = left.slice(0, size)
  const last = items.at(-1)
  if (last && left.length > size)
    return { items, tokens: { nextPageToken: writeToken({ after: last.key, parameters, sync }) } }
  return { items, tokens: sync ? { nextSyncToken: writeToken(sync) } : {} }
}
