import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { Arrival } from '../messages/arrival.ts'
import type { MailAccount } from '../messages/rules.ts'
import type { UnreadableMessage } from '../../../providers/mail.ts'
import { type Session, underFence } from './session.ts'

type Recording = (unit: UnitOfWork, account: MailAccount, arrivals: readonly Arrival[]) => Promise<void>

/**
 * Records arrivals by halves, so that only messages that the database refuses are left out. @returns the refused ones
 */
export async function recordPiecemeal(
  session: Session,
  arrivals: readonly Arrival[],
  record: Recording,
): Promise<UnreadableMessage[]> {
  try {
    await underFence(session, (unit, account) => record(unit, account, arrivals))
    return []
  } catch (error) {
    if (!isDataError(error)) throw error
    const [only] = arrivals
    if (arrivals.length === 1 && only)
      return [{ key: only.message.key, reason: `refused by the index: ${error.code}` }]
    const middle = Math.ceil(arrivals.length / 2)
    return [
      ...(await recordPiecemeal(session, arrivals.slice(0, middle), record)),
      ...(await recordPiecemeal(session, arrivals.slice(middle), record)),
    ]
  }
}

/** Whether PostgreSQL will refuse a value however often it is offered: classes 22 (data) and 54 (limits exceeded). */
export function isDataError(error: unknown): error is Error & { code: string } {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(22|54)/.test(error.code)
  )
}
