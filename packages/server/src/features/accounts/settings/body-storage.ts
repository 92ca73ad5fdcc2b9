import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import { bodyStorage } from '@waxwing/contract/shapes.ts'
import type { BlobStore } from '../../../kit/blobs/blob-store.ts'
import type { Logger } from '../../../kit/log.ts'
import { within } from '../../../kit/within.ts'
import { refuse } from '../../../calls/refuse.ts'

/** The longest that a request waits for the store of blobs to show that it works. */
const TRIAL_SECONDS_MAX = 10

type BodyStorage = AccountSettings['bodyStorage']

/** A change of `bodyStorage`. `after` is undefined if it stays as it is. */
export interface BodyStorageChange {
  before: BodyStorage
  after: BodyStorage | undefined
}

/** Whether more is stored after the change. */
export function storesMore({ before, after }: BodyStorageChange): boolean {
  return after !== undefined && bodyStorage.options.indexOf(after) > bodyStorage.options.indexOf(before)
}

/**
 * Refuses a change that stores more while the store of blobs does not work. `field` is its path in the request. Checked
 * last, since the store may take long to answer, and for the same reason never in a transaction.
 */
export type RequireStorage = (change: BodyStorageChange & { field: string }) => Promise<void>

export function requireStorageOf(blobs: Pick<BlobStore, 'tryOut'>, log: Logger): RequireStorage {
  return async ({ field, ...change }) => {
    if (!storesMore(change)) return
    try {
      await within(AbortSignal.timeout(TRIAL_SECONDS_MAX * 1_000), blobs.tryOut())
    } catch (error) {
      log.warn({ error }, 'Refused to store more messages, since they cannot be stored now')
      const message = `${field}: bodies cannot be stored without working object storage. Ask the operator to repair it.`
      refuse('storage_unavailable', undefined, { message, cause: error })
    }
  }
}
