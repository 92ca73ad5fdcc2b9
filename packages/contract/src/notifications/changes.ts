import { z } from 'zod'
import { changeEvent, eventType } from '../events.ts'
import { operation } from '../operation.ts'
import { cursor, pageLimit, queryList } from '../shapes.ts'

export const changes = {
  list: operation({
    method: 'GET',
    path: '/v1/changes',
    scope: 'read',
    summary: 'Follow what changed, oldest first.',
    description:
      'Without a cursor the feed starts at the oldest retained event. An empty page means caught up: ask again ' +
      'with `nextCursor`, which is never null. With `types`, a page may be short while the cursor moves on. ' +
      'After the database was restored to an earlier state, older cursors are refused as `invalid_cursor`: start ' +
      'again without one, and compare what you hold with the lists.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      cursor: cursor.optional(),
      limit: pageLimit(200, 50),
      types: queryList(eventType).optional().describe('Only events of these types.'),
      start: z
        .enum(['now'])
        .optional()
        .describe('`now`: no events, and the cursor of what comes next. Without effect beside a cursor.'),
    }),
    output: z.object({
      items: z.array(changeEvent),
      nextCursor: z.string().min(1).max(512).describe('Where to go on; never null.'),
    }),
  }),
}
