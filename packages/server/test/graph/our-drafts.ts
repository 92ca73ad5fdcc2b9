import type { DraftReplacement, NewDraft } from '../../src/providers/changing.ts'
import { DRAFT_FIELD, draftMark } from '../../src/providers/draft-mark.ts'
import type { OutgoingPart } from '../../src/providers/sending.ts'
import type { Office } from './reach-writing.ts'

export const MIB = 1024 * 1024
export const ID = '<draft@example.com>'

/** A generation of a draft of ours. */
export function draftOf(
  mailboxKey: string,
  generation: number,
  parts: readonly OutgoingPart[] = [],
): NewDraft {
  const mark = { draftId: 'd1', generation }
  const raw =
    `Bcc: hidden@example.com\r\nFrom: eva@office.test\r\nTo: bob@example.com\r\nSubject: Draft ${generation}\r\n` +
    `Message-ID: ${ID}\r\nReferences: <first@example.net>\r\n${DRAFT_FIELD}: ${draftMark(mark)}\r\n\r\nText ${generation}\r\n`
  const open = async function* () {
    yield Buffer.from(raw)
  }
  return {
    mailboxKey,
    mark,
    message: {
      internetMessageId: ID,
      byteLength: raw.length + parts.reduce((bytes, part) => bytes + part.byteLength, 0),
      open,
      split: async () => ({
        rest: { byteLength: raw.length, open },
        parts,
        [Symbol.asyncDispose]: async () => {},
      }),
      flags: { isRead: true, isFlagged: false, isDraft: true, categories: [] },
      receivedAt: null,
      threadId: null,
    },
  }
}

export function partOf(byteLength: number): OutgoingPart {
  return {
    filename: 'l.pdf',
    contentType: 'application/pdf',
    contentId: null,
    isInline: false,
    byteLength,
    async *open() {
      yield Buffer.alloc(byteLength, 'x')
    },
  }
}

/** A replacement of which nothing else is known. */
export const UNKNOWN: Pick<DraftReplacement, 'former' | 'draftKey' | 'others' | 'copies'> = {
  former: null,
  draftKey: null,
  others: [],
  copies: [],
}

/** Subjects of the drafts, oldest first. */
export const subjectsOf = async (office: Office) =>
  (await office.list('drafts')).map(({ subject }) => subject)
