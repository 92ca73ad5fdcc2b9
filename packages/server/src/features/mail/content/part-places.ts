import type { ParsedAttachment } from '../../../kit/mime/message-part.ts'

const MESSAGES_MAX = 1000
const PARTS_MAX = 20_000

/**
 * Remembers the positions of attachments in messages that were recently read from their providers, so that a download
 * need not read the whole message again. The source of a message never changes, except for drafts.
 */
export interface PartPlaces {
  find(messageId: string): readonly ParsedAttachment[] | null
  keep(messageId: string, attachments: readonly ParsedAttachment[]): void
}

export function openPartPlaces(): PartPlaces {
  const places = new Map<string, readonly ParsedAttachment[]>()
  let parts = 0
  const drop = (messageId: string) => {
    parts -= places.get(messageId)?.length ?? 0
    places.delete(messageId)
  }
  return {
    find: messageId => places.get(messageId) ?? null,
    keep(messageId, attachments) {
      drop(messageId)
      places.set(messageId, attachments)
      parts += attachments.length
      for (const oldest of places.keys()) {
        if (places.size <= MESSAGES_MAX && parts <= PARTS_MAX) return
        drop(oldest)
      }
    },
  }
}
