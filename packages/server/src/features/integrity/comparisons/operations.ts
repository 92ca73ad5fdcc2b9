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
import { requestCalendarComparisons } from '../../calendars/comparisons/record.ts'
import { findCalendarComparisons } from '../../calendars/comparisons/store.ts'
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
    const kinds = await followedKinds(context, account)
    if (query.refresh) {
      requireConnectable(account)
      await context.change(async unit => {
        const retryAfterSeconds = await askForSync(unit.sql, account, {
          kinds,
          words: ['integrity'],
        })
        if (retryAfterSeconds !== null) refuse('rate_limited', undefined, { retryAfterSeconds })
        await requestComparisons(unit, account.id)
        if (kinds.includes('calendar')) await requestCalendarComparisons(unit, account.id)
        if (kinds.includes('contacts')) await requestFolderComparisons(unit, account.id)
        unit.wake(account.id)
      })
    }
    const isInitialized = (kind: HalfKind) =>
      (account.other_halves?.find(half => half.kind === kind)?.initializedAt ?? null) !== null
    const compared = {
      mailboxes: await findComparisons(context.db, account.id),
      calendars: kinds.includes('calendar')
        ? {
            calendars: await findCalendarComparisons(context.db, account.id),
            isInitialized: isInitialized('calendar'),
          }
        : null,
      contacts: kinds.includes('contacts')
        ? {
            folders: await findFolderComparisons(context.db, account.id),
            isInitialized: isInitialized('contacts'),
          }
        : null,
      verifiedAt: await findVerifiedAt(context.db, account.id, kinds),
    }
    return presentIntegrity(compared, new Date())
  }),
}

/** The kinds of data of the account that are followed: they are switched on, and the plan and the provider have them. */
async function followedKinds({ db, tenantId }: RequestContext, account: AccountView): Promise<HalfKind[]> {
  const { calendarEnabled, contactsEnabled } = effectiveSettings(account.tenant_settings, account)
  const { followed } = abilitiesOf(account.provider)
  const kinds: HalfKind[] = ['mail']
  for (const [kind, isOn] of [
    ['calendar', calendarEnabled],
    ['contacts', contactsEnabled],
  ] as const)
    if (isOn && followed.includes(kind) && (await findModule(db, tenantId, kind))) kinds.push(kind)
  return kinds
}
