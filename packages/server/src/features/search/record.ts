import { sql } from 'kysely'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { documentVector } from '../../kit/search-text/document.ts'
import type { RemoteAddress } from '../../providers/provider.ts'

/** What a message is found by. */
export interface Searchable {
  id: string
  received_at: Date
  subject: string | null
  from: RemoteAddress | null
  to: readonly RemoteAddress[]
  cc: readonly RemoteAddress[]
  bcc: readonly RemoteAddress[]
  snippet: string
}

/** Writes what new messages are found by, in the transaction of their rows. */
export async function recordDocuments(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  messages: readonly Searchable[],
): Promise<void> {
  await sql`
    insert into message_search (message_id, account_id, received_at, document)
    select message_id, ${accountId}::uuid, received_at, document::tsvector
    from unnest(
      ${messages.map(({ id }) => id)}::uuid[],
      ${messages.map(({ received_at }) => received_at)}::timestamptz[],
      ${messages.map(message => describe(message))}::text[]
    ) as arrived (message_id, received_at, document)
  `.execute(unit.sql)
}

function describe({ subject, from, to, cc, bcc, snippet }: Omit<Searchable, 'id' | 'received_at'>): string {
  return documentVector({
    subject,
    sender: from ? linesOf([from]) : [],
    recipients: linesOf([...to, ...cc, ...bcc]),
    text: snippet,
  })
}

function linesOf(addresses: readonly RemoteAddress[]): string[] {
  return addresses.flatMap(({ name, address }) => (name === null ? [address] : [name, address]))
}
