import { sql } from 'kysely'
import { grantedHalves, inheritedSettings } from '../../../accounts/settings.ts'
import { findAccountView } from '../../../accounts/store.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Db } from '../../../database/pool.ts'
import { askingGauge } from '../../../kit/metrics.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { BulkRequest } from '../../../sync/bulk-permits.ts'
import { Doubts } from '../../../sync/doubts.ts'
import type { Follower, Rest } from '../../../sync/follower.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { followContacts } from './follow-contacts.ts'
import { homeOf } from '../contacts/home.ts'
import { endFormerHome } from './home.ts'
import { countAllQuarantined } from './quarantine.ts'

const LOOK_SECONDS = 300

/**
 * The work that the contacts of a row of `account` make: little, since they are looked at every five minutes, and none if
 * they were never switched on.
 */
const contactsWeight = sql<number>`(
  select 0.1::float8 * count(*) from account_half where account_half.account_id = account.id and kind = 'contacts')`

export interface ContactsFollowerOptions {
  db: Db
  lookSeconds?: number
}

/** Follows the contacts of accounts. */
export function openContactsFollower({ db, lookSeconds = LOOK_SECONDS }: ContactsFollowerOptions): Follower {
  return {
    kind: 'contacts',
    begin(owned) {
      const remembered = { bulkRequest: new BulkRequest(owned.tenantId), doubts: new Doubts() }
      return {
        follow({ connected, ...connection }) {
          const { contacts: provider } = connected
          if (!provider)
            throw new ProviderFailure('unsupported', 'The provider of this account offers no contacts.')
          return followContacts({ ...connection, ...remembered, db, provider, lookSeconds })
        },
        [Symbol.asyncDispose]: async () => {},
      }
    },
    findRest: owned => findRest(db, owned, lookSeconds),
    weight: contactsWeight,
    metrics: [
      askingGauge(
        'waxwing_contacts_quarantined',
        'Contacts of the whole installation that could not be read',
        () => countAllQuarantined(db),
      ),
    ],
  }
}

/**
 * Contacts that are switched off, that the grant does not allow, or that the plan does not include, are not followed.
 * Contacts of a former home end before that.
 */
async function findRest(db: Db, owned: OwnedAccount, seconds: number): Promise<Rest | null> {
  const { id, tenantId } = owned
  const account = await findAccountView(db, tenantId, id)
  if (!account) return null
  await endFormerHome(db, owned, homeOf(account))
  if (!inheritedSettings(account.tenant_settings, account).contactsEnabled)
    return { reason: 'contacts are switched off', seconds: null }
  if (grantedHalves(account).contacts === 'none')
    return { reason: 'the grant does not allow contacts', seconds: null, problem: 'scope_missing' }
  if (await findModule(db, tenantId, 'contacts')) return null
  return { reason: 'the plan does not include contacts', seconds }
}
