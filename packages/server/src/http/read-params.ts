/**
 * Prepares the parameters of a path for operations. PostgreSQL refuses text with U+0000, so it becomes U+FFFD, which no
 * id contains either: the thing that the parameter names is answered as missing.
 */
export function readParams(given: Record<string, string>): Record<string, string> {
  const cleaned = Object.entries(given).map(
    ([name, value]) => [name, value.replaceAll('\0', '\uFFFD')] as const,
  )
  return Object.fromEntries(cleaned)
}
