import type { AccountKind } from './abilities.ts'
import { CLOUDS } from './microsoft/clouds.ts'
import type { Cloud } from './sign-in.ts'

/** Limits of a provider that takes large messages only in parts. */
export interface ContentLimits {
  /** Bytes of a message that it takes whole. */
  wholeBytesMax: number
  /** Decoded bytes of a part; null: only the message as a whole has a limit. */
  partBytesMax: number | null
}

/** Exchange makes nothing of a larger MIME message, and answers 200 (github.com/microsoftgraph/microsoft-graph-docs/issues/13979). */
export const GRAPH_MIME_BYTES_MAX = 2 * 1024 * 1024
/**
 * A request may have 4 MB, and base64 adds a third to an attachment. A larger one takes an upload session
 * (learn.microsoft.com/graph/outlook-large-attachments).
 */
export const GRAPH_ATTACHED_AT_ONCE_BYTES_MAX = 3_000_000

/** Null: the provider takes messages whole. */
export function contentLimitsOf(account: {
  provider: AccountKind
  cloud: Cloud | null
}): ContentLimits | null {
  if (account.provider !== 'graph') return null
  const { has } = CLOUDS[account.cloud ?? 'global']
  return {
    wholeBytesMax: GRAPH_MIME_BYTES_MAX,
    partBytesMax: has.uploadSessions ? null : GRAPH_ATTACHED_AT_ONCE_BYTES_MAX,
  }
}
