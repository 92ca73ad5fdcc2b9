import type { AccountView } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import { contentLimitsOf } from '../../../providers/content-limits.ts'
import type { SplitContent } from '../../../providers/sending.ts'
import { type StoredContent, wireForm } from '../compose/stored-content.ts'

/* A provider that takes large messages only in parts does not take every message. It is refused before anything is made. */

type LimitedAccount = Pick<AccountView, 'provider' | 'cloud'>

/** Refuses a form of a message that the provider of the account would not take. */
export async function requireFittingForm(
  account: LimitedAccount,
  form: { byteLength: number; split: SplitContent },
): Promise<void> {
  const limits = contentLimitsOf(account)
  if (limits === null || form.byteLength <= limits.wholeBytesMax) return
  await using split = await form.split(limits.wholeBytesMax)
  const { partBytesMax } = limits
  const isFitting = split?.parts.every(part => partBytesMax === null || part.byteLength <= partBytesMax)
  if (!isFitting) refuse('attachments_too_large')
}

/** Refuses a message that is to be sent. */
export async function requireFittingContent(account: LimitedAccount, stored: StoredContent): Promise<void> {
  if (isWhole(account, stored.byteLength)) return
  const options = { date: new Date(), has8BitMime: true, hasSmtpUtf8: false, hasBcc: true }
  await requireFittingForm(account, await wireForm(stored, options))
}

/** Whether the provider of the account takes a message of this size whole. */
export function isWhole(account: LimitedAccount, bytes: number): boolean {
  const limits = contentLimitsOf(account)
  return limits === null || bytes <= limits.wholeBytesMax
}
