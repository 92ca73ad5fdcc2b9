export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** A query in the form of a path. */
export function writeQuery(query: Query): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of typeof value === 'object' ? value : [value]) search.append(name, String(one))
  }
  return search.toString()
}
