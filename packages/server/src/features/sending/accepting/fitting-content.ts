import type { AccountView } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import { contentLimitsOf } from '../../../providers/content-limits.ts'
import type { SplitContent } from '../../../providers/sending.ts'
import { type StoredContent, wireForm } from '../compose/stored-content.ts'

/* A provider that takes large messages only in parts does not take every message. It is refused before anything is made. */

type LimitedAccount = Pick<AccountView, 'provider' | 'cloud'>

/** The part of a message that is too large: one of its `files`, or its `text`, which is everything else. */
export type Misfit = 'files' | 'text'

interface Form {
  byteLength: number
  split: SplitContent
}

/** Refuses a form of a message that the provider of the account would not take. */
export async function requireFittingForm(account: LimitedAccount, form: Form): Promise<void> {
  if ((await findMisfit(account, form)) !== null) refuse('attachments_too_large')
}

/** Refuses a message that is to be sent. */
export async function requireFittingContent(account: LimitedAccount, stored: StoredContent): Promise<void> {
  if ((await findContentMisfit(account, stored)) !== null) refuse('attachments_too_large')
}

/** The reason why the provider of the account would not take a message that is to be sent; null if it would. */
export async function findContentMisfit(
  account: LimitedAccount,
  stored: StoredContent,
): Promise<Misfit | null> {
  if (isWhole(account, stored.byteLength)) return null
  const options = { date: new Date(), has8BitMime: true, hasSmtpUtf8: false, hasBcc: true }
  return findMisfit(account, await wireForm(stored, options))
}

async function findMisfit(account: LimitedAccount, form: Form): Promise<Misfit | null> {
  const limits = contentLimitsOf(account)
  if (limits === null || form.byteLength <= limits.wholeBytesMax) return null
  await using split = await form.split(limits.wholeBytesMax)
  if (!split) return 'text'
  const { partBytesMax } = limits
  const areFitting = split.parts.every(part => partBytesMax === null || part.byteLength <= partBytesMax)
  return areFitting ? null : 'files'
}

/** Whether the provider of the account takes a message of this size whole. */
export function isWhole(account: LimitedAccount, bytes: number): boolean {
  const limits = contentLimitsOf(account)
  return limits === null || bytes <= limits.wholeBytesMax
}
