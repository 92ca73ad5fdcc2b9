import { z } from 'zod'
import { messageFilters, messageSummary } from './messages.ts'
import { operation } from '../operation.ts'
import { accountPath, cursor, pageLimit, pageOf, queryText, uuid } from '../shapes.ts'

export const searchSource = z.enum(['index', 'provider'])
export type SearchSource = z.infer<typeof searchSource>

export const searchResult = messageSummary
  .extend({
    id: uuid.nullable().describe('Null for a message that only the provider has: it cannot be opened here.'),
  })
  .meta({ id: 'SearchResult' })
export type SearchResult = z.infer<typeof searchResult>

export const searchPage = pageOf(searchResult).extend({
  source: searchSource.describe('Which of the two answered.'),
})
export type SearchAnswer = z.infer<typeof searchPage>

export const search = {
  messages: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/search/messages',
    scope: 'read',
    accountToken: true,
    summary: 'Search messages.',
    description:
      'The index takes words, "quoted phrases", OR between neighbours and -word, finds them in subject, names, ' +
      'addresses and text, and answers best matches first. The provider is given `q` as it is and answers newest first. ' +
      'A page can hold fewer than `limit` while `nextCursor` continues.',
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
      q: queryText(1, 500).describe('What is searched for.'),
      source: z
        .enum(['index', 'provider', 'auto'])
        .default('auto')
        .describe(
          '`auto`: the index; the provider when `after` lies before the sync window, when the index found nothing and ' +
            'does not hold everything, or while the index of the account is rewritten after an upgrade.',
        ),
      ...messageFilters,
      limit: pageLimit(100, 25),
      cursor: cursor
        .optional()
        .describe('Stays with the source that issued it. The provider’s last one hour.'),
    }),
    output: searchPage,
  }),
}
