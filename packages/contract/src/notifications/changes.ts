import { z } from 'zod'
import { changeEvent, eventType } from '../events.ts'
import { operation } from '../operation.ts'
import { EVENT_STREAM, cursor, eventStream, pageLimit, queryInteger, queryList } from '../shapes.ts'

const types = queryList(eventType).optional().describe('Only events of these types.')

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
      types,
      start: z
        .enum(['now'])
        .optional()
        .describe(
          '`now` returns no events, only a cursor for the events to come. Ignored if `cursor` is given.',
        ),
      waitSeconds: queryInteger(0, 30)
        .default(0)
        .describe('If there is nothing to return, wait this long for the first event.'),
    }),
    output: z
      .object({
        items: z.array(changeEvent),
        nextCursor: z.string().min(1).max(512).describe('The cursor for the next request; never null.'),
      })
      .meta({ id: 'ChangeEventPage' }),
  }),
  stream: operation({
    method: 'GET',
    path: '/v1/changes/stream',
    scope: 'read',
    summary: 'Stream changes as they happen.',
    description:
      'Server-Sent Events: `id` is the event’s id, `event` its type, `data` the event as in the list of changes. ' +
      'Send the last id as the header `Last-Event-ID` to go on after it; it takes precedence over `cursor`. ' +
      'A comment is sent every 15 seconds, and with `types` it carries an `id`, which may be of an event of another ' +
      'type. The stream ends after an hour, when the service stops and when the credential ends: connect again. It ' +
      'counts as one request, and as one in flight as long as it is open.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      cursor: cursor.optional(),
      types,
      start: z
        .enum(['now'])
        .optional()
        .describe('`now` begins with the events to come. Ignored if a position is given.'),
    }),
    output: eventStream,
    produces: EVENT_STREAM,
  }),
}
