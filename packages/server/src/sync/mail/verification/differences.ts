import type { ComparedCounts } from '../../../features/integrity/comparisons/rules.ts'
import type { RemoteFlags } from '../../../providers/mail.ts'

/** The flags and mailboxes of a message, as one side has them. */
export interface Placed {
  /** Null if unknown, which equals anything. */
  flags: RemoteFlags | null
  /** Mailboxes of ours. */
  mailboxIds: readonly string[]
}

/** Whether the index says what the provider says. Null: it is not there. */
export function isEqual(listed: Placed | null, indexed: Placed | null): boolean {
  if (!listed || !indexed) return listed === indexed
  return isSameFlags(listed.flags, indexed.flags) && isSameSet(listed.mailboxIds, indexed.mailboxIds)
}

/** Counts a message in every mailbox that it is in, at the provider or in the index. */
export function tally(
  counts: Map<string, ComparedCounts>,
  listed: Placed | null,
  indexed: Placed | null,
): void {
  const there = new Set(listed?.mailboxIds)
  const here = new Set(indexed?.mailboxIds)
  const isSame = isSameFlags(listed?.flags ?? null, indexed?.flags ?? null)
  for (const mailboxId of new Set([...there, ...here])) {
    const count = counts.get(mailboxId)
    if (!count) continue
    if (there.has(mailboxId)) count.listed++
    if (here.has(mailboxId)) count.indexed++
    if (!here.has(mailboxId)) count.missing++
    else if (!there.has(mailboxId)) count.extra++
    else if (!isSame) count.changed++
  }
}

export function noCounts(): ComparedCounts {
  return { listed: 0, indexed: 0, missing: 0, extra: 0, changed: 0 }
}

function isSameFlags(a: RemoteFlags | null, b: RemoteFlags | null): boolean {
  if (!a || !b) return true
  return (
    a.isRead === b.isRead &&
    a.isFlagged === b.isFlagged &&
    a.isDraft === b.isDraft &&
    isSameSet(a.categories, b.categories)
  )
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  const [one, other] = [new Set(a), new Set(b)]
  return one.size === other.size && [...one].every(entry => other.has(entry))
}
