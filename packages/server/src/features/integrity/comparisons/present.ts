import type { AccountIntegrity } from '@waxwing/contract/integrity/integrity.ts'
import type { CalendarComparison } from '../../calendars/comparisons/store.ts'
import type { FolderComparison } from '../../contacts/comparisons/store.ts'
import type { Comparison, MailboxComparison } from '../../mail/comparisons/rules.ts'
import { stateOf } from './rules.ts'

/** The last comparisons of an account, and when each of its parts was last found equal to the provider. */
export interface Compared {
  mailboxes: readonly MailboxComparison[]
  /** Null unless calendars of the account are followed. */
  calendars: { calendars: readonly CalendarComparison[]; isInitialized: boolean } | null
  /** Null unless contacts of the account are followed. */
  contacts: { folders: readonly FolderComparison[]; isInitialized: boolean } | null
  /** Null if a part never was. */
  verifiedAt: Date | null
}

/** The integrity of an account, by the last comparisons of its mailboxes, calendars and contact folders. */
export function presentIntegrity(
  { mailboxes, calendars, contacts, verifiedAt }: Compared,
  now: Date,
): AccountIntegrity {
  const all: readonly Comparison[] = [
    ...mailboxes,
    ...(calendars?.calendars ?? []),
    ...(contacts?.folders ?? []),
  ]
  const sum = (count: (comparison: Comparison) => number) =>
    all.reduce((total, comparison) => total + count(comparison), 0)
  const times = all.map(({ comparedAt }) => comparedAt?.getTime() ?? null)
  const isWhole = [calendars, contacts].every(half => half === null || half.isInitialized)
  const isCompared = isWhole && times.length > 0 && !times.includes(null)
  return {
    state: stateOf(all, { now, isWhole }),
    verifiedAt: verifiedAt?.toISOString() ?? null,
    comparedAt: isCompared ? new Date(Math.min(...times.map(Number))).toISOString() : null,
    missing: sum(({ missing }) => missing),
    extra: sum(({ extra }) => extra),
    changed: sum(({ changed }) => changed),
    repaired: sum(({ repaired }) => repaired),
    mailboxes: mailboxes.map(({ mailboxId, ...comparison }) => ({ mailboxId, ...countsOf(comparison) })),
    ...(calendars && {
      calendars: calendars.calendars.map(({ calendarId, ...comparison }) => ({
        calendarId,
        ...countsOf(comparison),
      })),
    }),
    ...(contacts && {
      contactFolders: contacts.folders.map(({ folderId, isShown, ...comparison }) => ({
        folderId: isShown ? folderId : null,
        ...countsOf(comparison),
      })),
    }),
  }
}

function countsOf({ isDoubtful: _isDoubtful, stuckHours: _stuckHours, comparedAt, ...counts }: Comparison) {
  return { ...counts, comparedAt: comparedAt?.toISOString() ?? null }
}
