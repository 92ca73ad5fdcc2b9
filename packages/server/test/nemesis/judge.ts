import { checkAudit } from './checks/audit.ts'
import { checkBodies } from './checks/bodies.ts'
import { checkCalendars } from './checks/calendars.ts'
import { checkContacts } from './checks/contacts.ts'
import { checkDeletions } from './checks/deletions.ts'
import { checkDeliveries } from './checks/deliveries.ts'
import { checkEvents } from './checks/events.ts'
import { checkFeed } from './checks/feed.ts'
import { checkIdempotency } from './checks/idempotency.ts'
import { checkInvitations } from './checks/invitations.ts'
import { checkLimits } from './checks/limits.ts'
import { checkMailboxes } from './checks/mailboxes.ts'
import { checkOwners } from './checks/owners.ts'
import { checkResources } from './checks/resources.ts'
import { checkNeighbours } from './checks/neighbours.ts'
import { checkNoDoubleSend, checkNoLostSend } from './checks/sends.ts'
import { checkStatuses } from './checks/statuses.ts'
import { checkTimesAhead } from './checks/times-ahead.ts'
import { checkUnowned } from './checks/unowned.ts'
import type { Evidence } from './evidence.ts'
import type { Check, Violation } from './violation.ts'

const CHECKS: readonly Check[] = [
  checkFeed,
  checkDeliveries,
  checkNoDoubleSend,
  checkNoLostSend,
  checkNeighbours,
  checkTimesAhead,
  checkMailboxes,
  checkContacts,
  checkCalendars,
  checkInvitations,
  checkBodies,
  checkEvents,
  checkOwners,
  checkUnowned,
  checkIdempotency,
  checkLimits,
  checkStatuses,
  checkDeletions,
  checkAudit,
  checkResources,
]

/** Runs every check on the evidence of a run. */
export function judge(evidence: Evidence): Violation[] {
  return CHECKS.flatMap(check => check(evidence))
}
