import type { MessageOutline } from '../../../kit/mime/outline.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { openSource } from '../../mail/content/source.ts'
import type { FullRow } from '../../mail/messages/store.ts'
import { ANSWER_BYTES_MAX } from './limits.ts'

/** Reads the beginning of a message. Null if it is too hard to read. Rejects where it cannot be read now. */
export async function readAnswer(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<MessageOutline | null> {
  const pieces: Buffer[] = []
  let left = ANSWER_BYTES_MAX
  for await (const bytes of await openSource(context, account, message)) {
    pieces.push(bytes.subarray(0, left))
    left -= Math.min(left, bytes.length)
    if (left === 0) break
  }
  return context.reader.readOutline(Buffer.concat(pieces))
}
