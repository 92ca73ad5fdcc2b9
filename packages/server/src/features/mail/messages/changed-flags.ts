import type { RemoteFlags } from '../../../providers/mail.ts'
import type { ReferredMailbox } from '../mailboxes/present.ts'
import type { SummaryRow } from './present.ts'
import type { FormerLocation } from './record-new-locations.ts'

export interface ChangedFlags {
  messageId: string
  at: FormerLocation
  /** All flags as they are now; null: as they were. */
  flags: RemoteFlags | null
  asRead?: MessageAsRead | null
}

/** A message of an account whose first sync is complete, as it was read before it is changed. */
export interface MessageAsRead {
  row: SummaryRow
  /** The only mailbox that it is in, and where its location is. */
  mailbox: ReferredMailbox
  /** `xmin` of the two rows: another one after each change of them. */
  versions: { message: string; mailbox: string }
}
