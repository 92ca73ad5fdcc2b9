import type { AccountView } from '../../../accounts/row.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { readAddresses } from '../../../kit/mime/addresses.ts'
import type { MailedInvitation } from '../../../providers/changing-calendars.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { openSource } from '../../mail/content/source.ts'
import type { FullRow } from '../../mail/messages/store.ts'
import { isRefuted } from './authentication.ts'
import { INVITATION_BYTES_MAX } from './limits.ts'

/**
 * Reads the calendar object of a message. Null if it has none that is whole, is too hard to read, or is not of the author that it
 * names. Rejects if it cannot be read now.
 */
export async function readMail(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<MailedInvitation | null> {
  const pieces: Buffer[] = []
  let left = INVITATION_BYTES_MAX
  for await (const bytes of await openSource(context, account, message)) {
    pieces.push(bytes.subarray(0, left))
    left -= Math.min(left, bytes.length)
    if (left === 0) break
  }
  const outline = await context.reader.readOutline(account.tenant_id, Buffer.concat(pieces))
  const calendar = outline?.calendar?.trim() ?? ''
  if (!outline || !/\nEND:VCALENDAR$/i.test(calendar)) return null
  const author = authorIn(outline.fields)
  if (author === null || isRefuted(outline.fields)) return null
  return {
    bytes: Buffer.from(`${calendar.replaceAll('\n', '\r\n')}\r\n`),
    from: author,
  }
}

/** The one address of the one From field. With none or several, mail servers check other ones, or nothing. */
function authorIn(fields: ReadonlyArray<readonly [name: string, value: string]>): string | null {
  const [from, ...others] = fields.filter(([name]) => name === 'from')
  const [author, ...more] = readAddresses(from?.[1] ?? null)
  return author && others.length === 0 && more.length === 0 ? comparedAddress(author.address) : null
}
