import type { AccountSettings } from '@waxwing/contract/accounts.ts'

type Kept = Pick<AccountSettings, 'bodyStorage' | 'syncWindowDays'>

/** Whether what is asked for lies in part before the sync window, where the index holds nothing. */
export function reachesBehindWindow({ syncWindowDays }: Kept, after: Date | undefined, now: number): boolean {
  return after !== undefined && syncWindowDays !== null && after.getTime() < now - syncWindowDays * 86_400_000
}

/** Whether a message that the index does not find is none of the provider's either. */
export function holdsEverything({ bodyStorage, syncWindowDays }: Kept): boolean {
  return syncWindowDays === null && bodyStorage === 'full'
}
