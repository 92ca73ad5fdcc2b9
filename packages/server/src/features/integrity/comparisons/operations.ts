import { implement } from '@orpc/server'
import { integrity as contract } from '@waxwing/contract/integrity/integrity.ts'
import { requireAccountView, requireConnectable } from '../../accounts/accounts/access.ts'
import type { HalfKind } from '../../../accounts/halves/kind.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import { askForSync } from '../../../accounts/ask-for-sync.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import { requestFolderComparisons } from '../../contacts/comparisons/record.ts'
import { findFolderComparisons } from '../../contacts/comparisons/store.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { presentIntegrity } from './present.ts'
import { requestComparisons } from '../../mail/comparisons/record.ts'
import { findComparisons } from '../../mail/comparisons/store.ts'
import { findVerifiedAt } from './store.ts'

const on = implement(contract).$context<RequestContext>()

export const integrityOperations = {
  get: on.get.handler(async ({ input: { params, query }, context }) => {
    const account = await requireAccountView(context, params.accountId)
    const kinds: HalfKind[] = (await followsContacts(context, account)) ? ['mail', 'contacts'] : ['mail']
    if (query.refresh) {
      requireConnectable(account)
      await context.change(async unit => {
        const retryAfterSeconds = await askForSync(unit.sql, account, {
          kinds,
          words: ['integrity'],
        })
        if (retryAfterSeconds !== null) refuse('rate_limited', undefined, { retryAfterSeconds })
        await requestComparisons(unit, account.id)
        if (kinds.includes('contacts')) await requestFolderComparisons(unit, account.id)
        unit.wake(account.id)
      })
    }
    const contacts = account.other_halves?.find(({ kind }) => kind === 'contacts')
    const compared = {
      mailboxes: await findComparisons(context.db, account.id),
      contacts: kinds.includes('contacts')
        ? {
            folders: await findFolderComparisons(context.db, account.id),
            isInitialized: (contacts?.initializedAt ?? null) !== null,
          }
        : null,
      verifiedAt: await findVerifiedAt(context.db, account.id, kinds),
    }
    return presentIntegrity(compared, new Date())
  }),
}

/** Whether contacts of the account are followed: they are switched on, and the plan and the provider have them. */
async function followsContacts({ db, tenantId }: RequestContext, account: AccountView): Promise<boolean> {
  const { contactsEnabled } = effectiveSettings(account.tenant_settings, account)
  const isFollowed = contactsEnabled && abilitiesOf(account.provider).followed.includes('contacts')
  return isFollowed && findModule(db, tenantId, 'contacts')
}
