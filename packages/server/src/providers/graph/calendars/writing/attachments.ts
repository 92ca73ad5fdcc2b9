import { ProviderFailure } from '../../../failure.ts'
import { itemsSchema } from '../../items.ts'
import { pathOfEvent } from '../pages.ts'
import type { EventThere, Writing } from './there.ts'

/** Throws `unsupported` if an exception has attachments that its series lacks, which cannot be written again. */
export async function requireSameFiles(
  writing: Writing,
  series: EventThere,
  exception: EventThere,
): Promise<void> {
  if (!exception.fields.hasAttachments) return
  const theirs = series.fields.hasAttachments ? await filesOf(writing, series) : []
  const own = await filesOf(writing, exception)
  if (own.every(file => theirs.includes(file))) return
  throw new ProviderFailure(
    'unsupported',
    'An occurrence of the series has attachments of its own, which Exchange would take from it.',
  )
}

async function filesOf({ connection, place }: Writing, { item }: EventThere): Promise<string[]> {
  const { value } = await connection.api.ask({
    path: `${pathOfEvent(place.calendarKey, item.id)}/attachments`,
    query: { $select: 'id,name,size' },
    schema: itemsSchema,
    accepts: [200],
  })
  return value.value.map(({ name, size }) => JSON.stringify([name, size]))
}
