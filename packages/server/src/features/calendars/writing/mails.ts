import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { WrittenEvents } from '../../../providers/changing-calendars.ts'
import type { DroppedInvitations } from '../../sending/invitations/failures.ts'
import type { WriteIntent } from './intents.ts'

/** Mails to the people whom a write concerns, where the provider of the calendars sends none. */
export interface WriteMails {
  /** Refuses, before anything is written, if the account cannot send the mails of this write. */
  requireSendable(context: RequestContext, account: AccountView, intent: WriteIntent): Promise<void>

  /**
   * Makes the mails of a write that the provider has made. The same write makes the same mails again.
   * @returns queues them, in the transaction that records the write
   */
  prepare(
    account: { id: string; tenantId: string },
    write: MailedWrite,
  ): Promise<(unit: UnitOfWork) => Promise<void>>

  /** Reports that nobody is told of a write, since it is given up without knowing what the provider has done. */
  drop(dropped: DroppedInvitations): void
}

export interface MailedWrite {
  id: string
  intent: WriteIntent
  written: WrittenEvents
  /** Whether the event may have had other changes since the write was noted, of which it tells nobody. */
  isOvertaken: boolean
}

export const sendsNothing = async (): Promise<void> => undefined
