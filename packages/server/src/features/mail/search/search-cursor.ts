import type { SearchSource } from '@waxwing/contract/mail/search.ts'
import type { CursorBinding } from '../../../database/page.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { MessageFilters } from '../messages/store.ts'
import { refuse } from '../../../calls/refuse.ts'

const PROVIDER_CURSOR_SECONDS = 60 * 60

type CursorContext = Pick<RequestContext, 'tenantId' | 'cursors'>

/** The input of a search. Cursors are bound to it. */
export interface SearchInput {
  accountId: string
  q: string
  filters: MessageFilters
}

/** A position in a search, in the format of the source that answered. */
export interface SearchPosition {
  source: SearchSource
  place: string[]
}

/** Returns null at the start. Refuses with `invalid_cursor`. */
export function requireSearchPosition(
  { tenantId, cursors }: CursorContext,
  input: SearchInput,
  cursor: string | undefined,
): SearchPosition | null {
  if (cursor === undefined) return null
  const binding = bindingOf(tenantId, input)
  const [source, ...place] = cursors.open(cursor, binding) ?? []
  if (source === 'index') return { source, place }
  const isFresh = cursors.open(cursor, binding, PROVIDER_CURSOR_SECONDS) !== null
  return source === 'provider' && isFresh ? { source, place } : refuse('invalid_cursor')
}

export function sealSearchPosition(
  { tenantId, cursors }: CursorContext,
  input: SearchInput,
  { source, place }: SearchPosition,
): string {
  return cursors.seal([source, ...place], bindingOf(tenantId, input))
}

function bindingOf(tenantId: string, { accountId, q, filters }: SearchInput): CursorBinding {
  return { tenantId, list: `accounts/${accountId}/search/messages`, filters: { ...filters, q } }
}
