import { z } from 'zod'
import { changeEvent, eventType } from '../events.ts'
import { operation } from '../operation.ts'
import { cursor, pageLimit, queryList } from '../shapes.ts'

export const changes = {
  list: operation({
    method: 'GET',
    path: '/v1/changes',
    scope: 'read',
    summary: 'List changes, oldest first.',
    description:
      'Without a cursor, the feed starts at the oldest event that is still kept. An empty page means that ' +
      'you have read everything: ask again later with `nextCursor`, which is never null. With `types`, a ' +
      'page can be short although more events follow. If the database was restored to an earlier state, ' +
      'cursors from before the restore are refused with `invalid_cursor`: start again without a cursor, ' +
      'and compare your data with the lists.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      cursor: cursor.optional(),
      limit: pageLimit(200, 50),
      types: queryList(eventType).optional().describe('Only events of these types.'),
      start: z
        .enum(['now'])
        .optional()
        .describe(
          '`now` returns no events, only a cursor for the events to come. Ignored if `cursor` is given.',
        ),
    }),
    output: z.object({
      items: z.array(changeEvent),
      nextCursor: z.string().min(1).max(512).describe('The cursor for the next request; never null.'),
    }),
  }),
}
