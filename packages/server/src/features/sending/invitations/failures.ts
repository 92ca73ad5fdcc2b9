import { Counter, type Registry } from 'prom-client'
import type { Logger } from '../../../kit/log.ts'
import type { NextState } from '../outbox/rules.ts'

/** An invitation that was given up for one of its recipients, or for all of them. */
export interface FailedInvitation {
  outboxId: string
  tenantId: string
  accountId: string
  eventId: string
  reason: string
}

/** A message as an attempt or a sweep leaves it. */
interface Ended {
  id: string
  accountId: string
  /** Null for a send of the interface. */
  eventId: string | null
}

/** Null for a send, and for an invitation that reached all of its recipients, or is still tried. */
export function failedInvitation(
  tenantId: string,
  { id, accountId, eventId }: Ended,
  { status, rejected, dueAt, error }: Pick<NextState, 'status' | 'rejected' | 'dueAt' | 'error'>,
): FailedInvitation | null {
  if (eventId === null || dueAt !== null) return null
  if (status !== 'failed' && rejected.length === 0) return null
  return { outboxId: id, tenantId, accountId, eventId, reason: error?.reason ?? 'provider_rejected' }
}

/** Called with invitations that failed for good, once that is committed. */
export type OnInvitationsFailed = (failed: readonly FailedInvitation[]) => void

/**
 * Logs invitations that failed, and counts them. Nothing else happens: the event stands, and people see in their mail
 * server's log, or from the attendees, that nobody was invited.
 */
export function invitationFailures(metrics: Registry, log: Logger): OnInvitationsFailed {
  const counter = new Counter({
    name: 'waxwing_invitations_failed_total',
    help: 'Invitations of calendar events that did not reach all of their recipients',
    registers: [metrics],
  })
  return failed => {
    counter.inc(failed.length)
    for (const fields of failed) log.warn({ ...fields }, 'An invitation did not reach all of its recipients')
  }
}
