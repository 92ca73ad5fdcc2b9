import type { Db } from '../../../database/pool.ts'
import { homeOf } from '../../../accounts/halves/home.ts'
import type { Follower } from '../../../sync/follower.ts'
import { endFormerHome } from '../../../sync/looks/former-home.ts'
import { openLookingFollower } from '../../../sync/looks/looking-follower.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { CONTACT_HOMES } from './home.ts'
import { runPass } from './pass.ts'
import { countAllQuarantined, countQuarantined } from './quarantine.ts'
import { fenceOf } from './session.ts'

const LOOK_SECONDS = 300

export interface ContactsFollowerOptions {
  db: Db
  lookSeconds?: number
}

/** Follows the contacts of accounts. */
export function openContactsFollower({ db, lookSeconds = LOOK_SECONDS }: ContactsFollowerOptions): Follower {
  return openLookingFollower({
    db,
    lookSeconds,
    lookedAt: {
      kind: 'contacts',
      nouns: { data: 'contacts', items: 'contacts', source: 'folder' },
      isIncluded: tenantId => findModule(db, tenantId, 'contacts'),
      keepNotifying: async (provider, signal) => provider.keepNotifying?.(signal),
      runPass,
      countQuarantined: accountId => countQuarantined(db, accountId),
    },
    providerOf: ({ contacts }) => contacts,
    endFormerHome: (owned, account) =>
      endFormerHome(fenceOf(db, owned, []), homeOf(account, 'contacts'), CONTACT_HOMES),
    countAllQuarantined: () => countAllQuarantined(db),
  })
}
