/** Amounts that were spent lately, of units or of calls. */
export interface Window {
  /** By second, in order. */
  spent: { second: number; amount: number }[]
  sum: number
}

export function windowOf(windows: Map<string, Window>, key: string): Window {
  const found = windows.get(key)
  if (found) return found
  const opened = { spent: [], sum: 0 }
  windows.set(key, opened)
  return opened
}

/** The amount in the seconds that end with this one. Older ones are forgotten, and later ones, if the clock was turned back. */
export function used(window: Window, second: number, seconds: number): number {
  const isInside = (at: number): boolean => at > second - seconds && at <= second
  const first = window.spent[0]
  const last = window.spent.at(-1)
  if (first && last && !(isInside(first.second) && isInside(last.second))) {
    window.spent = window.spent.filter(entry => isInside(entry.second))
    window.sum = window.spent.reduce((sum, { amount }) => sum + amount, 0)
  }
  return window.sum
}

export function spend(window: Window, second: number, amount: number): void {
  const last = window.spent.at(-1)
  if (last?.second === second) last.amount += amount
  else window.spent.push({ second, amount })
  window.sum += amount
}
