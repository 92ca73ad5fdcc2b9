import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { NextState } from '../outbox/rules.ts'
import type { NewSuppression } from '../suppressions/record-suppressed.ts'
import { judge } from './rules.ts'
import { type BounceCounts, recordBounces, toSuppressions } from './record-bounces.ts'
import { findSends } from './store.ts'

/** An attempt that ended, and its consequences. */
export interface EndedAttempt {
  attempt: { id: string; accountId: string }
  next: Pick<NextState, 'status' | 'rejected' | 'refusedRecipients'>
}

export interface RecordedRefusals {
  counts: BounceCounts
  /** Addresses that are to be suppressed; the caller does so at the end of its transaction. */
  suppressions: NewSuppression[]
}

export const NO_REFUSALS: RecordedRefusals = { counts: { hard: 0, soft: 0 }, suppressions: [] }

/**
 * Records refusals of servers at the hand-over, as if they had come by a report. A send that reached some recipients
 * announces the ones that it did not reach; a send that failed announces `send.failed` instead. Addresses that do not
 * exist are suppressed in either case, if the server refused them and not the message.
 */
export async function recordRefusals(
  unit: UnitOfWork,
  ended: readonly EndedAttempt[],
): Promise<RecordedRefusals> {
  const refused = ended.filter(
    ({ next }) =>
      (next.refusedRecipients ?? []).length > 0 || (next.status === 'sent' && next.rejected.length > 0),
  )
  if (refused.length === 0) return NO_REFUSALS
  const sends = await findSends(
    unit,
    refused.map(({ attempt }) => attempt.accountId),
    refused.map(({ attempt }) => attempt.id),
  )
  const bounced = refused.flatMap(({ attempt, next }) => {
    const send = sends.get(attempt.id)
    if (!send) return []
    const ofAddress = new Set(next.refusedRecipients)
    const recipients = next.rejected.map(({ address, status, message }) => {
      const judgement = judge({
        status,
        diagnostic: message,
        addresses: [address],
        senders: [send.sender],
      })
      const suppresses = judgement.suppresses && ofAddress.has(address)
      return { address: comparedAddress(address), diagnostic: message, ...judgement, suppresses }
    })
    return [{ send, recipients, isReached: next.status === 'sent' }]
  })
  const { suppressions, counts } = await recordBounces(
    unit,
    bounced.filter(({ isReached }) => isReached),
  )
  const ofFailed = bounced.filter(({ isReached }) => !isReached).flatMap(toSuppressions)
  return { counts, suppressions: [...suppressions, ...ofFailed] }
}
