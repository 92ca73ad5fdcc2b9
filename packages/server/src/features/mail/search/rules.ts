import type { AccountSettings } from '@waxwing/contract/accounts/accounts.ts'
import { SEARCH_VERSION } from '../../../kit/search-text/version.ts'

type Kept = Pick<AccountSettings, 'bodyStorage' | 'syncWindowDays'>

/** Whether every message of the account has a document that was written by the rules that queries are read by. */
export function isCurrent(account: { search_version: number }): boolean {
  return account.search_version >= SEARCH_VERSION
}

/** Whether what is asked for lies in part before the sync window, where the index holds nothing. */
export function reachesBehindWindow({ syncWindowDays }: Kept, after: Date | undefined, now: number): boolean {
  return after !== undefined && syncWindowDays !== null && after.getTime() < now - syncWindowDays * 86_400_000
}

/** Whether a message that the index does not find is none of the provider's either. */
export function holdsEverything({ bodyStorage, syncWindowDays }: Kept): boolean {
  return syncWindowDays === null && bodyStorage === 'full'
}
