import type { ChangingProvider, FoundMessage, KnownDraft } from '../../../providers/changing.ts'
import type { Location } from '../../../providers/content.ts'
import type { RemoteMessage } from '../../../providers/mail.ts'
import { UNFOUND_SECONDS } from '../../mail/messages/record-missing.ts'
import type { FullRow } from '../../mail/messages/store.ts'

/** A draft as its provider has it. */
export interface DraftLook {
  /** All its contents, newest first. */
  found: FoundMessage[]
  /** The content that the index has; null if the provider does not have it where the index does. */
  itself: FoundMessage | null
  /** That content as it is now, if another client has changed it under its key since the index saw it. */
  edited: RemoteMessage | null
}

/**
 * Looks a draft up. Where its content can change under its key, that shows in its revision, and the draft is read.
 * @param draft as the index has it
 */
export async function lookAtDraft(
  provider: ChangingProvider,
  known: KnownDraft & { former: Location | null },
  draft: Pick<FullRow, 'draft_revision'>,
  fields: readonly string[],
): Promise<DraftLook> {
  const { former } = known
  const found = await provider.findDraft(known, fields)
  const itself = (former && found.find(message => isAt(message, former))) ?? null
  if (!itself || itself.revision === null || itself.revision === draft.draft_revision || !provider.readDraft)
    return { found, itself, edited: null }
  const edited = await provider.readDraft(itself.location.key)
  const others = found.filter(message => message !== itself)
  if (!edited) return { found: others, itself: null, edited: null }
  const read = { ...itself, revision: edited.content?.revision ?? itself.revision }
  return { found: found.map(message => (message === itself ? read : message)), itself: read, edited }
}

/**
 * Whether a draft that the provider does not find may be there: where a draft is another message after each change, it may
 * not be found just after it was written.
 */
export function mayBeUnfound(
  { draft_id: draftId, draft_key: draftKey, received_at: writtenAt }: FullRow,
  former: Location,
): boolean {
  const agoMs = Math.abs(Date.now() - writtenAt.getTime())
  return (
    draftId !== null && draftKey === null && typeof former.key === 'string' && agoMs < UNFOUND_SECONDS * 1_000
  )
}

export function isAt({ location }: FoundMessage, { source, key, cursor }: Location): boolean {
  return location.source === source && location.key === key && location.isValidUnder(cursor)
}

/** A draft in the form in which it is looked up at its provider. */
export function knownDraft<Former extends Location | null>(
  draft: Pick<FullRow, 'draft_key' | 'internet_message_id'>,
  mailboxKey: string,
  former: Former,
): KnownDraft & { former: Former } {
  return { mailboxKey, former, draftKey: draft.draft_key, internetMessageId: draft.internet_message_id }
}
