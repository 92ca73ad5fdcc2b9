import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { isUuid, newId } from '../../../kit/ids.ts'
import { refuse } from '../../../calls/refuse.ts'
import { reviewColumns, type ReviewRow } from './present.ts'
import { holdLists } from './record-lists.ts'
import { recordSuppressed } from './record-suppressed.ts'

/** A detected opt-out. */
export interface NewReview {
  /** The list that the send named, or the global one. */
  listId: string
  address: string
  source: 'reply' | 'inactive'
  accountId: string
  messageId: string
  outboxId: string | null
  probability: number
  alternateContacts: readonly string[]
}

/**
 * Queues reviews, but for addresses that are on the review's list already, or wait for it.
 * @returns how many were queued
 */
export async function recordReviews(unit: UnitOfWork, reviews: readonly NewReview[]): Promise<number> {
  if (reviews.length === 0) return 0
  const rows = reviews.map(review => ({
    ...review,
    id: newId(),
    address: comparedAddress(review.address),
    alternateContacts: [...review.alternateContacts],
  }))
  const { numAffectedRows = 0n } = await sql`
    insert into suppression_review (id, tenant_id, list_id, address, source, account_id, message_id, outbox_id,
      probability, alternate_contacts)
    select id, ${unit.tenantId}, "listId", address, source, "accountId", "messageId", "outboxId", probability,
      "alternateContacts"
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (
      id uuid, "listId" text, address text, source text, "accountId" uuid, "messageId" uuid, "outboxId" uuid,
      probability double precision, "alternateContacts" text[])
    where exists (
      select from account where account.id = given."accountId" and account.purged_at is null
    ) and not exists (
      select from suppression_list as list join suppression_entry as entry on entry.list_key = list.key
      where list.tenant_id = ${unit.tenantId} and list.id = given."listId" and list.deleted_at is null
        and entry.address = given.address
    )
    order by "listId", address
    on conflict (tenant_id, list_id, address) do nothing
  `.execute(unit.sql)
  return Number(numAffectedRows)
}

const REASONS: Readonly<Record<ReviewRow['source'], string>> = {
  reply: 'Asked in a reply for no more mail.',
  inactive: 'An automatic reply said that the person left the address.',
}

/**
 * Puts the address on the review's list. False if it was there already. The list is held before the review, as by who
 * deletes the list.
 */
export async function recordApproved(unit: UnitOfWork, reviewId: string): Promise<boolean> {
  await holdLists(unit, [await requireListOf(unit, reviewId)])
  const { list_id: listId, address, source, account_id, outbox_id } = await takeReview(unit, reviewId)
  const suppression = { listId, address, source, reason: REASONS[source] }
  const added = await recordSuppressed(unit, [{ ...suppression, accountId: account_id, outboxId: outbox_id }])
  return added.length > 0
}

export async function recordDismissed(unit: UnitOfWork, reviewId: string): Promise<void> {
  await takeReview(unit, reviewId)
}

async function requireListOf(unit: UnitOfWork, id: string): Promise<string> {
  if (!isUuid(id)) refuse('suppression_review_not_found')
  const { rows } = await sql<{ list_id: string }>`
    select list_id from suppression_review where tenant_id = ${unit.tenantId} and id = ${id}
  `.execute(unit.sql)
  return rows[0]?.list_id ?? refuse('suppression_review_not_found')
}

async function takeReview(unit: UnitOfWork, id: string): Promise<ReviewRow> {
  if (!isUuid(id)) refuse('suppression_review_not_found')
  const { rows } = await sql<ReviewRow>`
    delete from suppression_review where tenant_id = ${unit.tenantId} and id = ${id} returning ${reviewColumns}
  `.execute(unit.sql)
  return rows[0] ?? refuse('suppression_review_not_found')
}
