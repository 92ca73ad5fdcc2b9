import { implement } from '@orpc/server'
import { integrity as contract } from '@waxwing/contract/integrity/integrity.ts'
import { requireAccount, requireConnectable } from '../../accounts/accounts/access.ts'
import { askForSync } from '../../../accounts/ask-for-sync.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { presentIntegrity } from './present.ts'
import { requestComparisons } from '../../mail/comparisons/record.ts'
import { findComparisons } from '../../mail/comparisons/store.ts'
import { findVerifiedAt } from './store.ts'

const on = implement(contract).$context<RequestContext>()

export const integrityOperations = {
  get: on.get.handler(async ({ input: { params, query }, context }) => {
    const account = await requireAccount(context, params.accountId)
    if (query.refresh) {
      requireConnectable(account)
      await context.change(async unit => {
        const retryAfterSeconds = await askForSync(unit.sql, account, {
          kinds: ['mail'],
          words: ['integrity'],
        })
        if (retryAfterSeconds !== null) refuse('rate_limited', undefined, { retryAfterSeconds })
        await requestComparisons(unit, account.id)
        unit.wake(account.id)
      })
    }
    const comparisons = await findComparisons(context.db, account.id)
    return presentIntegrity(comparisons, await findVerifiedAt(context.db, account.id), new Date())
  }),
}
