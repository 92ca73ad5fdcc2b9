import { z } from 'zod'
import { id, pageSchema } from './resources.ts'

/* Contacts and events as answers give them, before their fields are read. */

const VERSION_LENGTH_MAX = 1_000

/** An item of an answer. All but its id may be missing, or something else. */
export const itemSchema = z.looseObject({ id, '@removed': z.unknown().optional() })
export type GraphItem = z.infer<typeof itemSchema>
export const itemsSchema = pageSchema(itemSchema)

/** The version that an item names, which is the one in its ETag; null if it names none. */
export function versionOf(item: GraphItem): string | null {
  const { changeKey } = item
  const named =
    typeof changeKey === 'string' ? changeKey : /^(?:W\/)?"(.+)"$/.exec(String(item['@odata.etag']))?.[1]
  return named !== undefined && named !== '' && named.length <= VERSION_LENGTH_MAX ? named : null
}

/** The ETag of a version, for `If-Match`. */
export function etagOf(version: string): string {
  return `W/"${version}"`
}
