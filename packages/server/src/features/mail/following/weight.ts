import { sql } from 'kysely'

/** Number of messages with which an account makes as much work as two empty ones. */
const MESSAGES_OF_WEIGHT_2 = 10_000

/** The work that the mail of a row of `account` makes: 1 if it is empty, 2 with 10,000 messages, 7.7 with a million. */
export const mailWeight = sql<number>`(
  select 1 + ln(1 + coalesce(sum(total_count), 0)::float8 / ${MESSAGES_OF_WEIGHT_2}) / ln(2::float8)
  from mailbox where mailbox.account_id = account.id
)`
