import type { InSlices } from '../../../kit/sliced-work.ts'
import type { AttachedFile } from '../compose/attached.ts'
import { composeMessage, type Composed } from '../compose/compose.ts'
import type { Composition } from '../compose/composition.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import type { InvitationMail } from './invitation.ts'

/**
 * Composes a mail whose alternatives are the text, the HTML and the iCalendar object, which is attached as a file, too, for
 * programs that do not read it there.
 */
export async function composeInvitation(
  { id, from, to, subject, text, html, method, calendar }: InvitationMail,
  inSlices: InSlices,
): Promise<{ internetMessageId: string; composed: Composed }> {
  const internetMessageId = newInternetMessageId(id, from.address)
  const composition: Composition = {
    internetMessageId,
    outboxId: id,
    unsubscribeUrl: null,
    draftMark: null,
    wireHtml: null,
    // Replaced by the time of the first attempt.
    date: new Date(),
    from,
    to,
    cc: [],
    bcc: [],
    replyTo: [],
    subject,
    inReplyTo: null,
    references: [],
    importance: null,
    headers: [],
    text,
    html,
    signature: null,
    calendar: { method, text: calendar },
    attachments: [fileOf(calendar)],
  }
  return { internetMessageId, composed: await composeMessage(composition, inSlices) }
}

/** The type is not `text/calendar`, since some programs would show the invitation twice. */
function fileOf(calendar: string): AttachedFile {
  const bytes = Buffer.from(calendar, 'utf8')
  return {
    filename: 'invite.ics',
    contentType: 'application/ics',
    contentId: null,
    isInline: false,
    byteLength: bytes.length,
    async *open() {
      yield bytes
    },
  }
}
