import type { ComparedCounts } from '../../comparisons/rules.ts'
import type { ListedMessage, RemoteFlags } from '../../../../providers/mail.ts'

/** The flags and mailboxes of a message, as one side has them. */
export interface Placed {
  /** Null if unknown, which equals anything. */
  flags: RemoteFlags | null
  /** Mailboxes of ours. */
  mailboxIds: readonly string[]
}

/** Whether the index equals the provider. Null stands for a message that is not there. */
export function isEqual(listed: Placed | null, indexed: Placed | null): boolean {
  if (!listed || !indexed) return listed === indexed
  return isSameFlags(listed.flags, indexed.flags) && isSameSet(listed.mailboxIds, indexed.mailboxIds)
}

/**
 * Whether a listed message may be another than the index has under its number: by itself, a size or time proves nothing,
 * since sizes are estimates on some servers.
 */
export function seemsOther(
  listed: Pick<ListedMessage, 'receivedAt' | 'size'>,
  indexed: { receivedAt: Date; size: number | null },
): boolean {
  const isOtherSize = listed.size !== undefined && indexed.size !== null && listed.size !== indexed.size
  return (
    isOtherSize ||
    (listed.receivedAt !== null && secondOf(listed.receivedAt) !== secondOf(indexed.receivedAt))
  )
}

/** Servers keep whole seconds. */
function secondOf(time: Date): number {
  return Math.floor(time.getTime() / 1_000)
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

/** Counts a message that the provider has, and another one that the index has in its place. */
export function tallyOther(
  counts: Map<string, ComparedCounts>,
  listed: Placed | null,
  indexed: Placed | null,
): void {
  tally(counts, listed, null)
  tally(counts, null, indexed)
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
