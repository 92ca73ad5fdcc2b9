import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import { SEARCH_VERSION } from '../../../kit/search-text/version.ts'

type Kept = Pick<AccountSettings, 'bodyStorage' | 'syncWindowDays'>

/** Whether every message of the account has a document by the same rules as queries. */
export function isCurrent(account: { search_version: number }): boolean {
  return account.search_version >= SEARCH_VERSION
}

/** Whether the search covers times before the sync window, for which the index has no messages. */
export function reachesBehindWindow({ syncWindowDays }: Kept, after: Date | undefined, now: number): boolean {
  return after !== undefined && syncWindowDays !== null && after.getTime() < now - syncWindowDays * 86_400_000
}

/** Whether a message that the index does not find cannot be found at the provider either. */
export function holdsEverything({ bodyStorage, syncWindowDays }: Kept): boolean {
  return syncWindowDays === null && bodyStorage === 'full'
}
