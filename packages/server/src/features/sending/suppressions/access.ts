import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../refuse.ts'
import type { Links } from '../links.ts'
import { recordNamedList } from './record-lists.ts'
import { suppressedMessage } from './rules.ts'
import { findSuppressed } from './store.ts'
import { hasUnsubscribeLinks } from './unsubscribe-link.ts'

interface Recipients {
  to: readonly unknown[]
  cc: readonly unknown[]
  bcc: readonly unknown[]
}

/** Refuses a send that names a list, but not exactly one recipient, or whose unsubscribe link could not be reached. */
export function requireListSend(links: Links, recipients?: Recipients): void {
  if (recipients) {
    const { to, cc, bcc } = recipients
    if (to.length !== 1 || cc.length > 0 || bcc.length > 0) refuse('list_send_recipients')
  }
  if (!hasUnsubscribeLinks(links)) refuse('list_unsubscribe_unavailable')
}

/**
 * Refuses a send to an address that is on the global list or on the list that it names, and creates that list if it is
 * missing. Call it in the commit that accepts the send, first.
 */
export async function requireUnsuppressed(
  unit: UnitOfWork,
  listId: string | null,
  addresses: readonly string[],
): Promise<void> {
  if (listId !== null) await recordNamedList(unit, listId)
  const suppressed = await findSuppressed(unit.sql, unit.tenantId, listId, addresses)
  if (suppressed.size > 0) refuse('suppressed', undefined, { message: suppressedMessage(suppressed) })
}
