/** Forms of secrets that occur in error texts of others: ours, Google's, OAuth's, a password in a URL. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(wk|wat|whsec)_[\w+/=-]+/g, '$1_[redacted]'],
  [/\bya29\.[\w-]+/g, '[redacted]'],
  [/\b1\/\/[\w-]{10,}/g, '[redacted]'],
  [/\beyJ[\w-]+\.[\w-]+(\.[\w-]+)?/g, '[redacted]'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/(:\/\/[^\s:/@]*):[^\s@/]+@/g, '$1:[redacted]@'],
]

/** The text with everything that looks like a credential replaced. */
export function scrub(text: string): string {
  return SECRETS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), text)
}
