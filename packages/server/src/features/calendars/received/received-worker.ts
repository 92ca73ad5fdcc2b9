import { sql } from 'kysely'
import { findAccountView } from '../../../accounts/store.ts'
import { askForSync } from '../../../accounts/ask-for-sync.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { ReachPoint } from '../../../kit/reach-point.ts'
import type { Instance } from '../../../processes/instance.ts'
import type { Pulse } from '../../../processes/pulse.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { WrittenEvents } from '../../../providers/changing-calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { findMessage, type FullRow } from '../../mail/messages/store.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import type { SpanPlanner } from '../events/planner.ts'
import { keptWindow, type WindowDays } from '../events/window.ts'
import { markWritten, recordWritten } from '../writing/record-written.ts'
import { isSeen } from '../writing/seen-state.ts'
import { INVITATIONS_AT_ONCE } from './limits.ts'
import {
  claimInvitations,
  type ClaimedInvitation,
  hasDueInvitations,
  mayBeEarly,
  releaseInvitation,
  settleInvitation,
} from './pending.ts'
import { readMail } from './read-mail.ts'
import { reachCalendars, takeMail, type TakeOptions } from './take-mail.ts'

/** The pulse and wakes find due messages; this poll is only a safeguard. */
const POLL_SECONDS = 30

/** Moments at which a test ends the process. */
export type InvitationPoint =
  | 'invitation_claimed'
  | 'invitation_read'
  | 'invitation_taken'
  | 'invitation_commit'

/** `taken`: an event was written. `ignored`: there was nothing to do. `given_up`: it could not be taken. */
export type InvitationOutcome = 'taken' | 'ignored' | 'given_up'

export interface ReceivedWorkerOptions extends ReadContext, TakeOptions {
  days: WindowDays
  planner: SpanPlanner
  clock: Clock
  instance: Instance
  pulse: Pulse
  reach: ReachPoint<InvitationPoint>
  onInvitation(outcome: InvitationOutcome): void
}

/**
 * Takes invitations that came by mail, several side by side and one of each account. They are claimed under the lease of the
 * process. An event is recorded by the commit that ends the look at the message; if a process ends before it, the next one finds
 * the provider as it is to be, and the sync announces that.
 */
export class ReceivedWorker implements AsyncDisposable {
  readonly #options: ReceivedWorkerOptions
  readonly #running = new Map<string, { invitation: ClaimedInvitation; ended: Promise<void> }>()
  readonly #loop: WokenLoop

  constructor(options: ReceivedWorkerOptions) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      listen: wake => options.pulse.ask({ isDue: () => hasDueInvitations, onDue: wake }),
      failure: 'Could not look for invitations',
      log: options.log,
    })
  }

  /** Makes the worker look for due messages. Returns at once and never throws. */
  wake(): void {
    this.#loop.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  async #look(signal: AbortSignal): Promise<number> {
    const { db, instance } = this.#options
    const limit = INVITATIONS_AT_ONCE - this.#running.size
    // The end of a look at a message wakes the loop.
    if (limit <= 0) return POLL_SECONDS
    const lease = await instance.awaitLease(signal)
    const running = [...this.#running.values()].map(({ invitation }) => invitation)
    for (const invitation of await claimInvitations(db, lease, { limit, running })) {
      const ended = this.#take(invitation).finally(() => {
        this.#running.delete(invitation.messageId)
        this.#loop.wake()
      })
      this.#running.set(invitation.messageId, { invitation, ended })
    }
    return POLL_SECONDS
  }

  /** Never rejects: a message whose result could not be recorded is claimed again. */
  async #take(invitation: ClaimedInvitation): Promise<void> {
    const { db, log, onInvitation } = this.#options
    const { messageId, accountId, tenantId } = invitation
    const fields = { messageId, accountId, tenantId, attempt: invitation.attempts }
    try {
      const outcome = await this.#lookAt(invitation)
      if (outcome !== 'passed over') onInvitation(outcome)
    } catch (error) {
      try {
        if (invitation.isLast || isFinal(error)) {
          log.warn({ ...fields, error }, 'An invitation could not be taken and was given up')
          if (await settleInvitation(db, invitation)) onInvitation('given_up')
        } else {
          log.info({ ...fields, error }, 'An invitation could not be taken and is tried again')
          await releaseInvitation(db, invitation)
        }
      } catch (again) {
        log.warn({ ...fields, error: again }, 'The result of an invitation could not be recorded')
      }
    }
  }

  async #lookAt(invitation: ClaimedInvitation): Promise<InvitationOutcome | 'passed over'> {
    const { db, planner, days, clock, reach } = this.#options
    const { messageId, accountId, tenantId } = invitation
    await reach('invitation_claimed', messageId)
    const account = await findAccountView(db, tenantId, accountId)
    const message = account ? await findMessage(db, accountId, messageId) : null
    if (!account || !message || (await isSetAside(db, message))) {
      await settleInvitation(db, invitation)
      return 'passed over'
    }
    const reached = await reachCalendars(db, account)
    const mail = reached && (await readMail(this.#options, account, message))
    await reach('invitation_read', messageId)
    const window = keptWindow(days, clock.now())
    const taken = mail && (await takeMail(this.#options, reached, { mail, window }))
    await reach('invitation_taken', messageId)
    if (taken === 'awaited' && !invitation.isLast && (await mayBeEarly(db, invitation))) {
      await releaseInvitation(db, invitation)
      return 'passed over'
    }
    if (!taken || taken === 'awaited')
      return (await settleInvitation(db, invitation)) ? 'ignored' : 'passed over'
    const { written, seen } = taken
    let isLeft = false
    const outcome = await planner.run(accountId, items =>
      inTransaction(db, tenantId, async unit => {
        const locked = await lockCalendars(unit, accountId)
        if (!(await settleInvitation(unit.sql, invitation))) return 'passed over' as const
        isLeft = !(await isSeen(unit, accountId, written, seen))
        if (isLeft) await leaveToSync(unit, account, written)
        else await recordWritten(unit, locked, written, { window, planner: items, movedId: null })
        await reach('invitation_commit', messageId)
        return 'taken' as const
      }),
    )
    if (isLeft) this.#options.wakeSync(accountId)
    return outcome
  }
}

/** The index got another state of the event while the provider was asked, so the sync asks for the latest one. */
async function leaveToSync(unit: UnitOfWork, account: AccountView, written: WrittenEvents): Promise<void> {
  await markWritten(unit, account.id, written)
  await askForSync(unit.sql, account, { kinds: ['calendar'] })
}

/** Another try would not help. */
function isFinal(error: unknown): boolean {
  return error instanceof ProviderFailure && ['rejected', 'unsupported', 'forbidden'].includes(error.kind)
}

/** Whether a message is sent, a draft, or put where nobody wants to be bothered by it. */
async function isSetAside(
  db: ReadContext['db'],
  { direction, is_draft: isDraft, mailbox_ids: mailboxIds }: FullRow,
): Promise<boolean> {
  if (direction !== 'inbound' || isDraft) return true
  const { rows } = await sql`
    select from mailbox where id = any(${mailboxIds}::uuid[]) and role in ('junk', 'trash')
  `.execute(db)
  return rows.length > 0
}
