import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { AnyArrival } from './arrival.ts'
import { isDraftIn, type MailAccount } from './rules.ts'

/**
 * Leaves out the drafts by which sends are prepared at a provider that sends only drafts. Such a draft has the
 * Message-ID of its send, which is known before the draft is made. It is in no list, feed or event: once it is sent, the
 * provider hands it over as sent mail, and it is an arrival like any other.
 */
export async function withoutOwnDrafts(
  unit: UnitOfWork,
  account: MailAccount,
  arrivals: readonly AnyArrival[],
): Promise<AnyArrival[]> {
  const drafts = arrivals.filter(mayBeOwn)
  if (drafts.length === 0) return [...arrivals]
  const { rows } = await sql<{ internet_message_id: string }>`
    select internet_message_id from sent_message
    where account_id = ${account.id}
      and internet_message_id = any(${drafts.map(({ message }) => message.internetMessageId)}::text[])
  `.execute(unit.sql)
  const sent = new Set<string | null>(rows.map(row => row.internet_message_id))
  return arrivals.filter(arrival => !mayBeOwn(arrival) || !sent.has(arrival.message.internetMessageId))
}

/** A provider where keys are numbers, or drafts have names of their own, sends without a draft. */
function mayBeOwn({ message, mailboxes }: AnyArrival): boolean {
  return (
    typeof message.key === 'string' &&
    message.draftKey === null &&
    message.internetMessageId !== null &&
    isDraftIn(mailboxes, message.isDraft)
  )
}
