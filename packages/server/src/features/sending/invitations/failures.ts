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

/** Mails of a write of an event that are not sent at all. */
export interface DroppedInvitations {
  tenantId: string
  accountId: string
  /** Null if the event is new. */
  eventId: string | null
  error: unknown
}

/**
 * Reports of invitations that do not reach people, once that is committed. Nothing else happens: the event stands, and people
 * see in their mail server's log, or from the attendees, that nobody was invited.
 */
export interface InvitationFailures {
  /** Called with invitations that failed for good. */
  failed(failed: readonly FailedInvitation[]): void
  /** Called if the mails of a write could not be made. They count as one. */
  dropped(dropped: DroppedInvitations): void
}

/** Logs invitations that do not reach people, and counts them. */
export function invitationFailures(metrics: Registry, log: Logger): InvitationFailures {
  const counter = new Counter({
    name: 'waxwing_invitations_failed_total',
    help: 'Invitations of calendar events that did not reach all of their recipients, and writes whose invitations could not be made',
    registers: [metrics],
  })
  return {
    failed(failed) {
      counter.inc(failed.length)
      for (const fields of failed)
        log.warn({ ...fields }, 'An invitation did not reach all of its recipients')
    },
    dropped(fields) {
      counter.inc()
      log.error({ ...fields }, 'Nobody is invited to an event, or told of its change')
    },
  }
}
