const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** A source of numbers that are the same in each run with the same seed. Not for secrets that protect anything. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  float(): number
  /** A whole number from 0 up to, but not including, `end`. */
  integer(end: number): number
  pick<T>(from: readonly [T, ...T[]]): T
  /** Text of base64url letters. */
  letters(length: number): string
  digits(length: number): string
  hex(length: number): string
  /** A source of its own, whose numbers do not depend on how many were drawn from this one. */
  stream(name: string): Random
}

export function openRandom(seed: number): Random {
  const next = mulberry32(seed)
  const integer = (end: number) => Math.floor(next() * end)
  const text = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[integer(alphabet.length)]).join('')
  return {
    float: next,
    integer,
    pick: from => from[integer(from.length)] ?? from[0],
    letters: length => text(LETTERS, length),
    digits: length => text('123456789', 1) + text('0123456789', length - 1),
    hex: length => text('0123456789abcdef', length),
    stream: name => openRandom(hash(name, seed)),
  }
}

/** The generator mulberry32: 32 bits of state, enough for test data. */
function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** FNV-1a over the name, begun with the seed. */
function hash(name: string, seed: number): number {
  let value = 0x811c9dc5 ^ seed
  for (const letter of name) value = Math.imul(value ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  return value
}
