import type { Message } from './message.ts'

export type ChangeKind = 'messageAdded' | 'messageDeleted' | 'labelAdded' | 'labelRemoved'

/** One entry of a mailbox's history. Numbers count from the start of this mailbox. */
export interface Change {
  number: number
  at: number
  kind: ChangeKind
  message: Message
  labels: string[]
}

export interface History {
  readonly changes: Change[]
  readonly now: () => number
  last: number
  /** Cursors before this number have expired. */
  floor: number
}

/** Ids start above what a JavaScript number holds, since Gmail's are unsigned 64-bit integers. */
const FIRST_ID = 9_007_199_254_741_000n
const KEPT_MS = 7 * 24 * 3600 * 1000
const GAP_MAX = 7

export const newHistory = (now: () => number): History => ({ changes: [], now, last: 0, floor: 0 })

/** The id that stands for a number in answers. */
export const historyId = (number: number): string => (FIRST_ID + BigInt(number)).toString()

/** The number of an id, or null if no history can have given it out. */
export function historyNumber(id: string): number | null {
  const number = BigInt(id) - FIRST_ID
  return number >= 0n && number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : null
}

export function recordChange(history: History, message: Message, kind: ChangeKind, labels: string[]): void {
  message.historyNumber = nextNumber(history)
  history.changes.push({ number: history.last, at: history.now(), kind, message, labels })
}

/** Ids are not contiguous, so each is a small step above the one before. */
function nextNumber(history: History): number {
  history.last += 1 + ((history.last * 5 + 3) % GAP_MAX)
  return history.last
}

export const presentId = (history: History): string => historyId(history.last)

/** Makes every cursor given out so far expire. */
export function expireHistory(history: History): void {
  history.floor = nextNumber(history)
  history.changes.length = 0
}

/** The changes after a cursor, oldest first, or null if the cursor has expired or was never given out. */
export function changesAfter(history: History, id: string): Change[] | null {
  dropOld(history)
  const number = historyNumber(id)
  if (number === null || number < history.floor || number > history.last) return null
  return history.changes.slice(indexAfter(history.changes, number))
}

function dropOld(history: History): void {
  const oldest = history.now() - KEPT_MS
  let count = 0
  while (count < history.changes.length && (history.changes[count] as Change).at < oldest) count += 1
  if (count === 0) return
  history.floor = (history.changes[count - 1] as Change).number
  history.changes.splice(0, count)
}

function indexAfter(changes: Change[], number: number): number {
  let low = 0
  let high = changes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((changes[middle] as Change).number <= number) low = middle + 1
    else high = middle
  }
  return low
}
