import type { Cursor, ListedMessage, ListedPage, ListOptions } from '../mail.ts'
import { FIRST_POSITION, type ListPosition } from './cursor.ts'
import type { GraphConnection } from './graph-connection.ts'
import { listFolder } from './list-folder.ts'
import { flagsOf, hasAllFlags, STATE_FIELDS } from './message.ts'
import { statesSchema } from './resources.ts'

const LISTED_PER_PAGE = 1_000

/** `MailProvider.list`: messages by the time of their arrival, newest first. */
export async function listPage(
  connection: GraphConnection,
  source: string,
  { since, after, signal }: ListOptions,
): Promise<ListedPage> {
  const { items, next } = await listFolder(
    connection,
    source,
    {
      schema: statesSchema,
      query: { $select: STATE_FIELDS },
      since: since?.getTime() ?? null,
      position: after === null ? FIRST_POSITION : readPosition(after),
      pageSize: LISTED_PER_PAGE,
    },
    { signal, urgency: 'background' },
  )
  const messages = items.map((item): ListedMessage => ({
    key: item.id,
    flags: hasAllFlags(item) ? flagsOf(item) : null,
    mailboxKeys: [item.parentFolderId ?? source],
    receivedAt: item.receivedDateTime ? new Date(item.receivedDateTime) : null,
  }))
  return { messages, next: next && { position: next } }
}

/** The position that `listPage` gave. */
function readPosition(after: Cursor): ListPosition {
  return after['position'] as ListPosition
}
