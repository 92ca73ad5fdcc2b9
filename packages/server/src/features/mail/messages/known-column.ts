import { type RawBuilder, sql } from 'kysely'
import type { KnownMessage } from '../../../providers/mail.ts'

/** What the index knows a row of `message` by. @param isSuspect whether the numbers of its source are under suspicion */
export function knownColumn(isSuspect: RawBuilder<boolean>): RawBuilder<KnownMessage> {
  return sql`json_build_object('internetMessageId', message.internet_message_id, 'identity', message.identity,
    'subject', message.subject, 'sentAtMs', (extract(epoch from message.sent_at) * 1000)::float8, 'isSuspect', ${isSuspect})`
}
