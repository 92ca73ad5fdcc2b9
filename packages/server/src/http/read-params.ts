/**
 * The parameters of a path as operations get them. PostgreSQL refuses text with U+0000, so that becomes U+FFFD, which no
 * id holds either: the parameter names nothing, and what it would name is answered as missing.
 */
export function readParams(given: Record<string, string>): Record<string, string> {
  const cleaned = Object.entries(given).map(
    ([name, value]) => [name, value.replaceAll('\0', '\uFFFD')] as const,
  )
  return Object.fromEntries(cleaned)
}
