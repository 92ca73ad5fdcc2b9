import { type OtherKind, SWITCHES } from '../../accounts/halves/kind.ts'
import type { OwnedAccount } from '../../accounts/halves/ownership.ts'
import { weightOfLooks } from '../../accounts/halves/weight.ts'
import type { AccountView } from '../../accounts/row.ts'
import { grantedHalves, inheritedSettings } from '../../accounts/settings.ts'
import { findAccountView } from '../../accounts/store.ts'
import type { Db } from '../../database/pool.ts'
import { askingGauge } from '../../kit/metrics.ts'
import type { ConnectedAccount } from '../../providers/connected-account.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { BulkRequest } from '../bulk-permits.ts'
import { Doubts } from '../doubts.ts'
import type { Follower, Rest } from '../follower.ts'
import { followByLooks, type LookedAt } from './follow-by-looks.ts'

export interface LookingFollowerOptions<Provider> {
  db: Db
  lookSeconds: number
  lookedAt: LookedAt<Provider> & { kind: OtherKind }
  /** Finds what the provider of an account offers of this kind. */
  providerOf(connected: ConnectedAccount): Provider | undefined
  /** Takes data that comes from a former server out of the index. */
  endFormerHome(owned: OwnedAccount, account: AccountView): Promise<void>
  /** Counts items of the whole installation that cannot be read. */
  countAllQuarantined(): Promise<number>
}

/** Follows a kind of data, besides mail, by looks. */
export function openLookingFollower<Provider>(options: LookingFollowerOptions<Provider>): Follower {
  const { db, lookSeconds, lookedAt, providerOf, countAllQuarantined } = options
  const { kind, nouns } = lookedAt
  const { data, items } = nouns
  return {
    kind,
    begin(owned) {
      const remembered = { bulkRequest: new BulkRequest(owned.tenantId), doubts: new Doubts() }
      return {
        follow({ connected, ...connection }) {
          const provider = providerOf(connected)
          if (!provider)
            throw new ProviderFailure('unsupported', `The provider of this account offers no ${data}.`)
          return followByLooks({ ...connection, ...remembered, db, provider, lookedAt, lookSeconds })
        },
        [Symbol.asyncDispose]: async () => {},
      }
    },
    findRest: owned => findRest(owned, options),
    weight: weightOfLooks(kind, lookSeconds),
    metrics: [
      askingGauge(
        `waxwing_${items.replaceAll(' ', '_')}_quarantined`,
        `${items[0]?.toUpperCase()}${items.slice(1)} of the whole installation that could not be read`,
        countAllQuarantined,
      ),
    ],
  }
}

/**
 * Data that is switched off, that the grant does not allow, or that the plan does not include, is not followed. Data of a
 * former home ends before that.
 */
async function findRest<Provider>(
  owned: OwnedAccount,
  { db, lookSeconds, lookedAt, endFormerHome }: LookingFollowerOptions<Provider>,
): Promise<Rest | null> {
  const { id, tenantId } = owned
  const { kind, nouns } = lookedAt
  const { data } = nouns
  const account = await findAccountView(db, tenantId, id)
  if (!account) return null
  await endFormerHome(owned, account)
  if (!inheritedSettings(account.tenant_settings, account)[SWITCHES[kind]])
    return { reason: `${data} are switched off`, seconds: null }
  if (grantedHalves(account)[kind] === 'none')
    return { reason: `the grant does not allow ${data}`, seconds: null, problem: 'scope_missing' }
  if (await lookedAt.isIncluded(tenantId)) return null
  return { reason: `the plan does not include ${data}`, seconds: lookSeconds }
}
