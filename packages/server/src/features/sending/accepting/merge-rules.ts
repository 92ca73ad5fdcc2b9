import { addressInput } from '@waxwing/contract/mail/address-input.ts'
import type { MergeBody, MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { reasons } from '@waxwing/contract/reasons.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import type { ContentFailure } from '../compose/render-content.ts'
import { planSendTime } from '../outbox/schedule.ts'

export type EntryError = NonNullable<MergeItem['error']>

/** A message of a merge, as far as its entry determines it. */
export interface PlannedEntry {
  index: number
  to: Address
  params: Record<string, unknown> | undefined
  reference: string | null
  sendAt: Date | null
}

/** The entries that may become messages, and the errors of the others, by index. @param now by the database */
export function planEntries(
  body: Pick<MergeBody, 'entries' | 'reference' | 'sendAt'>,
  now: Date,
): { entries: PlannedEntry[]; errors: Map<number, EntryError> } {
  const entries: PlannedEntry[] = []
  const errors = new Map<number, EntryError>()
  for (const [index, entry] of body.entries.entries()) {
    const to = addressInput.safeParse(entry.to)
    const sendAt = entry.sendAt ?? body.sendAt ?? null
    const time = planSendTime(now, sendAt, 0)
    if (!to.success) {
      const [issue] = to.error.issues
      errors.set(
        index,
        invalid(['to', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'is not an address'),
      )
    } else if (typeof time === 'string') errors.set(index, invalid('sendAt', time))
    else {
      const { name, address } = to.data
      const reference = entry.reference ?? body.reference ?? null
      entries.push({ index, to: { name: name || null, address }, params: entry.params, reference, sendAt })
    }
  }
  return { entries, errors }
}

function invalid(field: string, message: string): EntryError {
  return { reason: 'invalid_input', message: `${field} ${message}.` }
}

/** An error in the words of its reason. */
export function entryError(reason: EntryError['reason']): EntryError {
  return { reason, message: reasons[reason].message }
}

/** The reason why the template gave an entry no content. */
export function renderError({ failure, field, message }: ContentFailure): EntryError {
  if (failure === 'params_too_large' || field === null) return entryError(failure)
  return { reason: failure, message: `The template was not rendered: ${field} ${message ?? ''}.` }
}

const ADDRESS_LENGTH_MAX = 320

/** The outcome of each entry, in their order. */
export function presentItems(
  mailMergeId: string,
  entries: ReadonlyArray<{ to: { address: string } }>,
  outcome: { queued: ReadonlyMap<number, string>; errors: ReadonlyMap<number, EntryError> },
): MergeItem[] {
  return entries.map(({ to }, index) => ({
    index,
    address: to.address.slice(0, ADDRESS_LENGTH_MAX).toWellFormed(),
    mailMergeId,
    outboxId: outcome.queued.get(index) ?? null,
    error: outcome.errors.get(index) ?? null,
  }))
}
