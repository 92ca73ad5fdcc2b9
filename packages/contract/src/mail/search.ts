import { z } from 'zod'
import { messageFilters, messageSummary } from './messages.ts'
import { operation } from '../operation.ts'
import { accountPath, cursor, pageLimit, pageOf, queryText, uuid } from '../shapes.ts'

export const searchSource = z.enum(['index', 'provider'])
export type SearchSource = z.infer<typeof searchSource>

export const searchResult = messageSummary
  .extend({
    id: uuid.nullable().describe('Null for a message that only the provider has; it cannot be opened here.'),
  })
  .meta({ id: 'SearchResult' })
export type SearchResult = z.infer<typeof searchResult>

export const searchPage = pageOf(searchResult)
  .extend({ source: searchSource.describe('Where the search was answered.') })
  .meta({ id: 'SearchPage' })
export type SearchAnswer = z.infer<typeof searchPage>

export const search = {
  messages: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/search/messages',
    scope: 'read',
    accountToken: true,
    summary: 'Search messages.',
    description:
      'The index supports words, "quoted phrases", OR between two terms and -word. It searches subject, ' +
      'names, addresses and text, and returns the best matches first. The provider gets `q` unchanged and ' +
      'returns the newest messages first. A page can hold fewer than `limit` results although ' +
      '`nextCursor` is not null.',
    refuses: [
      'account_not_found',
      'account_paused',
      'account_disabled',
      'account_reauth_required',
      'account_misconfigured',
      'invalid_cursor',
      'invalid_range',
      'provider_forbidden',
      'provider_rejected',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'unknown_mailbox',
    ],
    params: accountPath,
    query: z.strictObject({
      q: queryText(1, 500).describe('The search query.'),
      source: z
        .enum(['index', 'provider', 'auto'])
        .default('auto')
        .describe(
          '`auto` uses the index. It uses the provider if `after` is before the sync window, if the ' +
            'index found nothing and does not hold all mail, or while the account’s index is being ' +
            'rewritten after an upgrade.',
        ),
      ...messageFilters,
      limit: pageLimit(100, 25),
      cursor: cursor
        .optional()
        .describe(
          '`nextCursor` of the previous page. It works only with the source that issued it; a cursor of the provider ' +
            'is valid for one hour.',
        ),
    }),
    output: searchPage,
    isShedFirst: true,
  }),
}
