import { uidsOf } from '../messages/location.ts'
import type { ChangedKey } from '../messages/record-changed-keys.ts'
import type { KnownMessages } from '../../../providers/mail.ts'

/**
 * The messages that the cursor of a source counts: the index as it was before the interface changed it. So messages
 * that the interface removed are reported as gone once, and messages that it added as arrived once; neither changes
 * anything.
 */
export function withoutChanges(known: KnownMessages, changed: readonly ChangedKey[]): KnownMessages {
  const added = new Set(uidsOf(changed.filter(({ isAdded }) => isAdded).map(({ key }) => key)))
  const removed = new Set(uidsOf(changed.filter(({ isRemoved }) => isRemoved).map(({ key }) => key)))
  if (added.size === 0 && removed.size === 0) return known
  const flags = new Map([...removed].map(uid => [uid, 0]))
  for (const [at, uid] of known.keys.entries()) flags.set(uid, known.flags[at]!)
  const keys = [...flags.keys()].filter(uid => !added.has(uid)).toSorted((a, b) => a - b)
  return { keys: Uint32Array.from(keys), flags: Uint8Array.from(keys, uid => flags.get(uid)!) }
}
