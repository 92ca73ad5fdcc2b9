/** Forms of secrets that occur in error texts of others: ours, Google's, Microsoft's, OAuth's, a password in a URL. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(wk|wat|whsec)_[\w+/=-]+/g, '$1_[redacted]'],
  [/\bya29\.[\w-]+/g, '[redacted]'],
  [/\b1\/\/[\w-]{10,}/g, '[redacted]'],
  // Refresh tokens of organizations and of personal accounts, and client secrets.
  [/\b[01]\.A[\w.-]{20,}/g, '[redacted]'],
  [/\bM\.[CR]\d+_[\w.!*$-]{20,}/g, '[redacted]'],
  [/[\w.~-]{3}\dQ~[\w.~-]{31,34}/g, '[redacted]'],
  [/-----BEGIN (?:\w+ )?PRIVATE KEY-----[^-]*(?:-----END (?:\w+ )?PRIVATE KEY-----)?/g, '[redacted]'],
  [/\beyJ[\w-]+\.[\w-]+(\.[\w-]+)?/g, '[redacted]'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/(:\/\/[^\s:/@]*):[^\s@/]+@/g, '$1:[redacted]@'],
]

/** The text with everything that looks like a credential replaced. */
export function scrub(text: string): string {
  return SECRETS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), text)
}
