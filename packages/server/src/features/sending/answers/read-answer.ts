import type { AccountView } from '../../../accounts/row.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { openSource } from '../../mail/content/source.ts'
import type { FullRow } from '../../mail/messages/store.ts'
import { type Complaint, parseComplaint } from '../bounces/complaint.ts'
import { namedSends, type NamedSends, parseReport, type Report } from '../bounces/report.ts'
import { classifyReply, type Verdict } from '../classification/rules.ts'
import { ANSWER_BYTES_MAX } from './limits.ts'

/** The content of an answer, before its send is found. */
export interface AnswerContent {
  report: Report | null
  complaint: Complaint | null
  /** The sends that it refers to, and its kind of reply. Null if it is no reply to a send, or undecided. */
  reply: { named: NamedSends; verdict: Verdict } | null
}

/** Reads the beginning of a message. Null if it is too hard to read. Rejects if it cannot be read now. */
export async function readAnswer(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<AnswerContent | null> {
  const pieces: Buffer[] = []
  let left = ANSWER_BYTES_MAX
  for await (const bytes of await openSource(context, account, message)) {
    pieces.push(bytes.subarray(0, left))
    left -= Math.min(left, bytes.length)
    if (left === 0) break
  }
  const outline = await context.reader.readOutline(account.tenant_id, Buffer.concat(pieces))
  if (!outline) return null
  const isReply = message.answered_outbox_id !== null
  const verdict = isReply
    ? classifyReply({
        outline,
        receivedAt: message.received_at,
        knownAddresses: [message.from?.address ?? '', account.email],
      })
    : null
  return {
    report: parseReport(outline),
    complaint: parseComplaint(outline),
    reply: verdict && { named: namedSends(outline, []), verdict },
  }
}
