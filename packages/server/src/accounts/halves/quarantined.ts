import { storable, isStorableKey } from '../../kit/storable.ts'

/** An item whose provider names no version is read again after this time. */
export const UNVERSIONED_RETRY_HOURS = 24
const REASON_CHARACTERS_MAX = 500

/** An item that the provider has, but that cannot be read. */
export interface Unreadable {
  key: string
  /** Null if the provider named none. */
  version: string | null
  reason: string
}

/** Unreadable items as they are stored, each key once. */
export function storableUnreadable(unreadable: readonly Unreadable[]): Unreadable[] {
  const rows = unreadable
    .filter(({ key }) => isStorableKey(key))
    .map(({ key, version, reason }) => ({
      key,
      version: version === null ? null : storable(version),
      reason: storable(reason).slice(0, REASON_CHARACTERS_MAX),
    }))
  return [...new Map(rows.map(row => [row.key, row])).values()]
}
