import type { ClaimedAccount } from '../src/accounts/halves/ownership.ts'
import { BulkPermits } from '../src/sync/bulk-permits.ts'
import type { Follower } from '../src/sync/follower.ts'
import { Keeper, type KeeperOptions } from '../src/sync/keeper.ts'

type MailKeeperOptions = Omit<KeeperOptions, 'kinds' | 'lease'> & {
  follower: Follower
  bulkPermits?: BulkPermits
}

/** Keeps an account that has only the half of its mail, under a lease that never lapses. */
export function keepMail(
  owned: ClaimedAccount,
  { follower, bulkPermits = new BulkPermits(1), ...options }: MailKeeperOptions,
): Keeper {
  const kinds = new Map([['mail' as const, { follower, bulkPermits }]])
  const lease = new AbortController().signal
  return new Keeper(owned, { ...options, kinds, lease })
}
