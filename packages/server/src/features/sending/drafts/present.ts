import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ReadMessage } from '../../../kit/mime/message-reader.ts'
import type { AddedMessage } from '../../../providers/changing.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { listPlacedMailboxes } from '../../mail/mailboxes/store.ts'
import { presentEtag, presentMessage } from '../../mail/messages/present.ts'
import type { KeylessMessage, NewLocation } from '../../mail/messages/record-new-locations.ts'
import type { PlacedMailbox } from '../../mail/messages/rules.ts'
import { findMessage } from '../../mail/messages/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { DraftContent } from './content.ts'

/** The answer of an operation that wrote a draft, with its ETag. */
export async function presentDraft(
  context: RequestContext,
  unit: UnitOfWork,
  { accountId, id }: { accountId: string; id: string },
  read: ReadMessage | null,
): Promise<Message> {
  const row = (await findMessage(unit.sql, accountId, id)) ?? refuse('draft_not_found')
  context.answerHeaders.etag = presentEtag(row)
  return presentMessage(row, read)
}

/** A draft as the provider describes it, otherwise as it was written. */
export function describedBy(
  { message, draftKey }: AddedMessage,
  content: Pick<DraftContent, 'message' | 'mark'>,
): KeylessMessage {
  return { ...(message ?? content.message), draftKey, draftMark: content.mark }
}

/**
 * The mailboxes of the index that the provider put a draft into, and its location. If the intended mailbox was renamed
 * meanwhile, the draft is in it, and the sync finds its key.
 */
export async function placedIn(
  unit: UnitOfWork,
  accountId: string,
  { mailboxKeys, location }: AddedMessage,
  mailboxId: string,
): Promise<{ mailboxes: PlacedMailbox[]; to: NewLocation | null }> {
  const placed = await listPlacedMailboxes(unit.sql, accountId)
  const named = placed.filter(({ key }) => mailboxKeys.includes(key))
  if (named.length > 0) return { mailboxes: named, to: location }
  return { mailboxes: placed.filter(({ id }) => id === mailboxId), to: null }
}
