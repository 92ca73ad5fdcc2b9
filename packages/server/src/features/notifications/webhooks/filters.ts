import type { WebhookFilters, WebhookFiltersInput } from '@waxwing/contract/notifications/webhook-filters.ts'
import { comparedParty, comparedText } from './compared.ts'

/** Lets every event pass. */
export const NO_FILTERS: WebhookFilters = {
  eventTypes: [],
  accountIds: [],
  message: {
    mailboxIds: [],
    mailboxRoles: [],
    from: [],
    to: [],
    subjectContains: [],
    hasAttachments: null,
    direction: null,
  },
}

/**
 * The filters after a request: absent fields stay, null clears. Entries that are compared alike become one, as the
 * first is written.
 */
export function changedFilters(
  before: WebhookFilters,
  input: WebhookFiltersInput | null | undefined,
): WebhookFilters {
  if (input === undefined) return before
  if (input === null) return NO_FILTERS
  return {
    eventTypes: changedList(before.eventTypes, input.eventTypes),
    accountIds: changedList(before.accountIds, input.accountIds),
    message: changedCriteria(before.message, input.message),
  }
}

function changedCriteria(
  before: WebhookFilters['message'],
  input: WebhookFiltersInput['message'],
): WebhookFilters['message'] {
  if (input === undefined) return before
  if (input === null) return NO_FILTERS.message
  return {
    mailboxIds: changedList(before.mailboxIds, input.mailboxIds),
    mailboxRoles: changedList(before.mailboxRoles, input.mailboxRoles),
    from: changedList(before.from, input.from, comparedParty),
    to: changedList(before.to, input.to, comparedParty),
    subjectContains: changedList(before.subjectContains, input.subjectContains, comparedText),
    hasAttachments: input.hasAttachments === undefined ? before.hasAttachments : input.hasAttachments,
    direction: input.direction === undefined ? before.direction : input.direction,
  }
}

function changedList<T extends string>(
  before: T[],
  input: readonly T[] | null | undefined,
  compared: (entry: T) => string = entry => entry,
): T[] {
  if (input === undefined) return before
  const entries = new Map<string, T>()
  for (const entry of input ?? []) if (!entries.has(compared(entry))) entries.set(compared(entry), entry)
  return [...entries.values()]
}
