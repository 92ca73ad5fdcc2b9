const PREFIX = 'WAXWING_'
/** One mistake is accepted for each this many letters of a name. */
const LETTERS_PER_MISTAKE = 5

/**
 * The settings that an unknown name may stand for: those spelt nearly the same, or else those that share its words.
 * `WAXWING_ALOW` may stand for two settings.
 */
export function nearestSettings(name: string, known: readonly string[]): string[] {
  const bare = bareName(name)
  const near = known.filter(other => isNear(bare, bareName(other)))
  if (near.length > 0) return near
  const words = bare.split('_').filter(word => word !== '')
  return known.filter(other => {
    const others = bareName(other).split('_')
    return words.length > 0 && words.every(word => others.some(one => isNear(word, one)))
  })
}

/** Removes the common prefix, which says nothing about similarity. */
function bareName(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
}

function isNear(one: string, other: string): boolean {
  return distance(one, other) <= Math.ceil(Math.max(one.length, other.length) / LETTERS_PER_MISTAKE)
}

/** The Damerau-Levenshtein distance: how many letters to change, add, drop or swap with their neighbour. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)]
  const cell = (row: number, column: number) => rows[row]?.[column] ?? Infinity
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= other.length; j += 1) {
      const changed = cell(i - 1, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const swapped = isSwapped ? cell(i - 2, j - 2) + 1 : Infinity
      row.push(Math.min(changed, swapped, cell(i - 1, j) + 1, cell(i, j - 1) + 1))
    }
  }
  return cell(one.length, other.length)
}
