import { implement } from '@orpc/server'
import { search } from '@waxwing/contract/mail/search.ts'
import { requireAccountView } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireMailbox } from '../mailboxes/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import { searchIndex } from './index-search.ts'
import { requireSearchPosition } from './search-cursor.ts'
import { SearchPage } from './search-page.ts'
import { answerFromEither, answerFromProvider, type SearchServices } from './sources.ts'

const on = implement(search).$context<RequestContext>()

export function searchOperations(services: SearchServices) {
  return {
    messages: on.messages.handler(async ({ input: { params, query }, context }) => {
      const { q, source, limit, cursor, ...filters } = query
      if (filters.after && filters.before && filters.before <= filters.after) refuse('invalid_range')
      const account = await requireAccountView(context, params.accountId)
      const input = { accountId: account.id, q, filters }
      const position = requireSearchPosition(context, input, cursor)
      if (position !== null && source !== 'auto' && position.source !== source) refuse('invalid_cursor')
      if (filters.mailboxId) await requireMailbox(context.db, account.id, filters.mailboxId)

      const asked = position?.source ?? source
      const place = position?.place ?? null
      if (asked === 'auto') return answerFromEither(context, services, account, input, limit)
      if (asked === 'provider') return answerFromProvider(context, services, account, input, { place, limit })
      return new SearchPage(await searchIndex(context, services.searches, input, { place, limit }), 'index')
    }),
  }
}
