/** The header field by which a draft of ours is recognised at a provider whose drafts cannot be changed in place. */
export const DRAFT_FIELD = 'X-Waxwing-Draft'

/**
 * Identifies a message as one content of a draft. Each new content has a higher generation than all before it. If a
 * provider replaces by adding and then removing, an interruption leaves two messages of one draft: the higher
 * generation is the draft.
 */
export interface DraftMark {
  /** The id of the draft here. */
  draftId: string
  /** Counts from 1. */
  generation: number
}

const MARK = /^([\w-]{1,64}) generation=([1-9]\d{0,8})$/

/** The value of the field. */
export function draftMark({ draftId, generation }: DraftMark): string {
  return `${draftId} generation=${generation}`
}

/** Null for a value that is not one of ours. */
export function readDraftMark(value: string | null | undefined): DraftMark | null {
  const [, draftId, generation] = MARK.exec(value?.trim() ?? '') ?? []
  return draftId && generation ? { draftId, generation: Number(generation) } : null
}
