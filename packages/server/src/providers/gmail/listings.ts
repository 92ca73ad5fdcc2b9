import type { Backfill } from './backfill.ts'
import type { GmailConnection } from './gmail-connection.ts'
import type { Healing } from './healing.ts'
import type { LabelledIds } from './labelled-ids.ts'

/** Listings that are under way. They end with their connection. */
export interface Listings {
  /** Lists and fetches the messages that the index lacks. */
  backfill: Backfill | null
  /** Lists all messages with their labels, to mend the index. */
  healing: Healing | null
  /** Lists all messages with their labels, for a comparison. */
  listed: LabelledIds | null
}

export type ListingConnection = GmailConnection & Listings

/** A connection on which no listing is under way. */
export function withListings(
  connection: Omit<GmailConnection, 'noteTouched' | 'forgetArrivals'>,
): ListingConnection {
  const listings: ListingConnection = {
    ...connection,
    backfill: null,
    healing: null,
    listed: null,
    noteTouched(ids) {
      for (const id of ids) {
        listings.backfill?.touch(id)
        listings.healing?.touched.add(id)
        listings.listed?.touched.add(id)
      }
    },
    forgetArrivals() {
      listings.backfill = null
      listings.healing = null
    },
  }
  return listings
}
