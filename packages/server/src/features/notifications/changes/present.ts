import { sql } from 'kysely'
import { isoTime } from '../../mail/messages/present.ts'

/** The JSON text of an `event`, on one line: the same bytes in the feed and in every webhook. */
export const eventJson = sql.raw(
  `row_to_json((select shown from (
     select event.id::text as id, event.type, event.account_id as "accountId",
       ${isoTime('event.created_at')} as "createdAt", event.data
   ) as shown))::text`,
)
