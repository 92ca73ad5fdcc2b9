import { refuse } from '../../../calls/refuse.ts'
import type { Links } from '../links.ts'
import { suppressedMessage } from './rules.ts'
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

/** Refuses a send to addresses that are suppressed. */
export function requireUnsuppressed(suppressed: ReadonlySet<string>): void {
  if (suppressed.size > 0) refuse('suppressed', undefined, { message: suppressedMessage(suppressed) })
}
