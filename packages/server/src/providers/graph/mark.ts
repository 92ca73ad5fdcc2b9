import { hash } from 'node:crypto'
import { z } from 'zod'
import type { AskOptions, GraphApi } from './api.ts'
import { itemsSchema, versionOf } from './items.ts'

/** The last changes that a mark stands for. */
const MARKED = 20

const countedSchema = itemsSchema.extend({ '@odata.count': z.int().min(0) })

/**
 * Stands for the number of items of a list and its last changes: one call. It differs after most changes.
 * @param path the list, such as `contactFolders/{id}/contacts`
 */
export async function askMark(api: GraphApi, path: string, options: AskOptions): Promise<string> {
  const { value } = await api.ask(
    {
      path,
      query: {
        $select: 'id,changeKey',
        $orderby: 'lastModifiedDateTime desc',
        $top: MARKED,
        $count: true,
      },
      schema: countedSchema,
      accepts: [200],
    },
    options,
  )
  const last = value.value.map(item => `${item.id} ${versionOf(item)}`).toSorted()
  return hash('sha256', [value['@odata.count'], ...last].join('\n'), 'base64url')
}
