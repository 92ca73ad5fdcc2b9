/** A stream of numbers that is the same for the same seed, on every machine. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  next(): number
  /** A whole number, both ends included. */
  between(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(choices: readonly [T, ...T[]] | readonly T[]): T
  /** A number about `median`, with the spread `sigma` of its logarithm. */
  logNormal(median: number, sigma: number): number
  /** A separate stream, so that draws for one purpose do not shift those for another. */
  fork(name: string): Random
}

export function seeded(seed: number | string): Random {
  let state = hash(String(seed))
  // mulberry32 by Tommy Ettinger, public domain.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    between,
    chance: probability => next() < probability,
    pick<T>(choices: readonly T[]): T {
      const choice = choices[between(0, choices.length - 1)]
      if (choice === undefined) throw new Error('nothing to pick from')
      return choice
    },
    logNormal(median, sigma) {
      const gaussian = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
      return median * Math.exp(sigma * gaussian)
    },
    fork: name => seeded(`${seed}/${name}`),
  }
}

/** FNV-1a. */
function hash(text: string) {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return value | 0
}
