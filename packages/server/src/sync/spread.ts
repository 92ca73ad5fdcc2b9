import type { Spread } from '../accounts/spread.ts'

/** Accounts do not move while no process follows more than another by this part of a share, and this weight. */
const SLACK_PART = 0.05
const SLACK_WEIGHT = 2

export interface Share {
  /** The weight of unowned accounts that this process should claim. */
  room: number
  /** The weight that it should release; 0 while it is near its share, or while anything waits to be claimed. */
  excess: number
}

/** Compares what a process follows with an even share of everything. */
export function planShare(mine: { staying: number; leaving: number }, { others, unowned }: Spread): Share {
  const weights = [...others.values()]
  const all = weights.reduce((total, weight) => total + weight, mine.staying + mine.leaving + unowned)
  const share = all / (weights.length + 1)
  const lead = mine.staying - Math.min(...weights)
  const isOver = unowned === 0 && mine.staying > share && lead > share * SLACK_PART + SLACK_WEIGHT
  return {
    room: Math.max(0, Math.ceil(share) - mine.staying),
    // Where many have a little too much, each must give something to the one that has too little.
    excess: isOver ? Math.max(mine.staying - share, SLACK_WEIGHT) : 0,
  }
}

/**
 * Chooses the accounts to release, in the order given: together at most the excess, and at most `atOnce`. An account
 * that weighs more than what is left of the excess stays: where it went, it would be too much. So each move makes the
 * spread more even, and no account goes back and forth.
 */
export function chooseReleased<Account extends { weight: number }>(
  accounts: Iterable<Account>,
  excess: number,
  atOnce: number,
): Account[] {
  const chosen: Account[] = []
  let left = excess
  for (const account of accounts) {
    if (chosen.length >= atOnce) break
    if (account.weight > left) continue
    chosen.push(account)
    left -= account.weight
  }
  return chosen
}
