import { type OpenapiDocument, type Schema, resolve } from './document.ts'

const DEPTH_MAX = 8

/** The example of a text of which nothing more is known. */
export const ANY_TEXT = '…'

const STRINGS: Record<string, string> = {
  uuid: '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90',
  'date-time': '2026-11-21T09:30:00.000Z',
  date: '2026-11-21',
  email: 'ada@example.com',
}

/** A value that fits the schema: its own example if it has one, otherwise what its keywords suggest. */
export function exampleOf(document: OpenapiDocument, schema: Schema, depth = 0): unknown {
  const resolved = resolve(document, schema)
  const own = resolved.examples?.[0] ?? resolved.const ?? resolved.default ?? resolved.enum?.[0]
  if (own !== undefined) return own
  if (depth > DEPTH_MAX) return {}
  const [first] = resolved.anyOf ?? []
  if (first) return exampleOf(document, first, depth + 1)
  if (resolved.properties) {
    return Object.fromEntries(
      Object.entries(resolved.properties).map(([name, field]) => [
        name,
        // A list that is shown in full has no next page.
        name === 'nextCursor' ? null : exampleOf(document, field, depth + 1),
      ]),
    )
  }
  if (resolved.items) return [exampleOf(document, resolved.items, depth + 1)]
  if (resolved.type === 'object') return {}
  if (resolved.type === 'boolean') return true
  if (resolved.type === 'integer' || resolved.type === 'number') return Math.max(resolved.minimum ?? 1, 1)
  return resolved.type === 'null' ? null : (STRINGS[resolved.format ?? ''] ?? ANY_TEXT)
}

/** A body to start from: the document's own example, or only the required fields. */
export function bodyExampleOf(document: OpenapiDocument, schema: Schema): unknown {
  const resolved = resolve(document, schema)
  if (resolved.examples?.[0] !== undefined) return resolved.examples[0]
  const required = resolved.required ?? []
  const fields = Object.entries(resolved.properties ?? {}).filter(([name]) => required.includes(name))
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(document, field)]))
}
