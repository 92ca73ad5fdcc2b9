import { implement } from '@orpc/server'
import { tracking, TRACKING_ITEMS_SHOWN_MAX } from '@waxwing/contract/sending/tracking.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireAccount } from '../../accounts/accounts/access.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { presentTracking } from './present.ts'
import { openLinks } from './sealed-links.ts'
import { findTracking, listItems } from './store.ts'

const on = implement(tracking).$context<RequestContext>()

export function trackingOperations({ accountKeys }: { accountKeys: AccountKeys }) {
  return {
    get: on.get.handler(async ({ input: { params }, context: { db, ...context } }) => {
      const account = await requireAccount({ db, ...context }, params.accountId)
      const { outboxId } = params
      const row = isUuid(outboxId) ? await findTracking(db, account.id, outboxId) : null
      if (!row) return refuse('send_not_found')
      const items = await listItems(db, outboxId, TRACKING_ITEMS_SHOWN_MAX)
      return presentTracking(row, items, openLinks(accountKeys, account, outboxId.toLowerCase(), row.links))
    }),
  }
}
