import { readDate } from '../../kit/mime/date.ts'
import { identityOf } from '../../kit/mime/identity.ts'
import {
  bodyHalfOf,
  CALENDAR_TYPE,
  countsAsAttachment,
  type PartPlace,
  type PartTraits,
} from '../../kit/mime/part-role.ts'
import type { MessageSummary } from '../../kit/mime/summary.ts'
import { cleanLine } from '../../kit/mime/text.ts'
import { readDraftMark } from '../draft-mark.ts'
import type { RemoteFlags, RemoteMessage } from '../mail.ts'
import { decodeMailboxName, encodeKeyword } from './names.ts'
import { bytesOf, type ImapAttribute, modseqOf, numberOf, pairsOf, textOf, textsOf } from './values.ts'

/** `"17-Jul-1996 02:44:25 -0700"` has 26 characters. */
const DATE_LENGTH_MAX = 64
const CATEGORIES_MAX = 100
const CATEGORY_LENGTH_MAX = 200
/**
 * Keywords that clients and servers use for their own notes (in the registry of RFC 5788 they begin with `$`).
 */
const TECHNICAL_KEYWORDS = new Set([
  'junk',
  'nonjunk',
  'notjunk',
  'forwarded',
  'redirected',
  'mdnsent',
  'receipthandled',
])

/** The values of one message from FETCH, as far as they were requested. */
export interface FetchedMessage {
  uid: number
  flags: RemoteFlags | null
  internalDate: string | null
  size: number
  /** The first bytes of the message; null if the server returned none. */
  source: Buffer | null
  emailId: string | null
  threadId: string | null
  /** Null if it was not requested, or the server has none. */
  modseq: string | null
  structure: ImapAttribute | undefined
}

/** Reads the list of a FETCH answer; null if it contains no UID. */
export function readFetched(list: ImapAttribute | undefined): FetchedMessage | null {
  const message: FetchedMessage = {
    uid: 0,
    flags: null,
    internalDate: null,
    size: 0,
    source: null,
    emailId: null,
    threadId: null,
    modseq: null,
    structure: undefined,
  }
  for (const [name, value] of pairsOf(list)) {
    if (name === 'UID') message.uid = numberOf(value) ?? 0
    else if (name === 'FLAGS') message.flags = toFlags(textsOf(value))
    else if (name === 'INTERNALDATE') message.internalDate = dateOf(value)
    else if (name === 'RFC822.SIZE') message.size = sizeOf(value)
    else if (name === 'MODSEQ') message.modseq = modseqOf(Array.isArray(value) ? value[0] : value)
    else if (name === 'BODY') message.source = bytesOf(value)
    else if (name === 'BODYSTRUCTURE') message.structure = value
    else if (name === 'EMAILID' || name === 'X-GM-MSGID') message.emailId = idOf(value)
    else if (name === 'THREADID' || name === 'X-GM-THRID') message.threadId = idOf(value)
  }
  return message.uid === 0 ? null : message
}

function dateOf(value: ImapAttribute | undefined): string | null {
  const text = textOf(value)
  return text !== null && text.length <= DATE_LENGTH_MAX ? text : null
}

/** RFC 9051 section 9: up to 63 bits. A number that JSON cannot represent exactly is not a valid size. */
function sizeOf(value: ImapAttribute | undefined): number {
  const text = textOf(value) ?? ''
  const size = /^\d{1,19}$/.test(text) ? Number(text) : 0
  return Number.isSafeInteger(size) ? size : 0
}

/** RFC 8474 puts its ids in parentheses and allows NIL; Gmail writes numbers. */
function idOf(value: ImapAttribute | undefined): string | null {
  const id = textOf(Array.isArray(value) ? value[0] : value)
  return id !== null && /^[\x21-\x7e]{1,255}$/.test(id) ? id : null
}

/** The category that a keyword stands for; null for keywords that clients and servers use for themselves. */
export function categoryOf(keyword: string): string | null {
  if (keyword.startsWith('$') || TECHNICAL_KEYWORDS.has(keyword.toLowerCase())) return null
  return cleanLine(decodeMailboxName(keyword), CATEGORY_LENGTH_MAX) || null
}

/** The keyword that stands for a category: an atom, from which `categoryOf` gives the category back. */
export function keywordOf(category: string): string {
  const keyword = encodeKeyword(category)
  // Read back, it would be taken for a note of a client.
  return categoryOf(keyword) === null ? encodeKeyword(category, true) : keyword
}

function toFlags(flags: readonly string[]): RemoteFlags {
  const system = new Set<string>()
  const categories = new Set<string>()
  for (const flag of flags) {
    if (flag.startsWith('\\')) system.add(flag.toLowerCase())
    else if (categories.size < CATEGORIES_MAX) {
      const category = categoryOf(flag)
      if (category) categories.add(category)
    }
  }
  return {
    isRead: system.has('\\seen'),
    isFlagged: system.has('\\flagged'),
    isDraft: system.has('\\draft'),
    categories: [...categories].toSorted(),
  }
}

export function toRemoteMessage(
  fetched: FetchedMessage,
  summary: MessageSummary,
  mailboxKey: string,
): RemoteMessage {
  const receivedAt = readDate(fetched.internalDate) ?? summary.sentAt ?? new Date(0)
  const { internetMessageId, references, inReplyTo, subject, from, to, cc, bcc, replyTo } = summary
  const facts = { internetMessageId, subject, from, sentAt: summary.sentAt, receivedAt, size: fetched.size }
  return {
    key: fetched.uid,
    mailboxKeys: [mailboxKey],
    identity: identityOf(facts, fetched.emailId),
    threadId: fetched.threadId,
    references,
    inReplyTo,
    to,
    cc,
    bcc,
    replyTo,
    snippet: summary.snippet,
    hasAttachments: summary.hasAttachments,
    importance: summary.importance,
    draftMark: readDraftMark(summary.draftMark),
    draftKey: null,
    mayBeReport: summary.mayBeReport,
    mayBeInvitation: summary.mayBeInvitation,
    ...facts,
    ...(fetched.flags ?? toFlags([])),
  }
}

const DEPTH_MAX = 64
const PARTS_MAX = 1000

/** The facts about the parts of a message that its structure shows. */
export interface ShownParts {
  hasAttachments: boolean
  hasCalendar: boolean
}

/** Reads a BODYSTRUCTURE (RFC 9051 section 7.5.2). Bounded in depth and parts. */
export function readStructure(structure: ImapAttribute | undefined): ShownParts {
  const shown: ShownParts = { hasAttachments: false, hasCalendar: false }
  let parts = 0
  let isAfterText = false
  const look = (
    part: ImapAttribute | undefined,
    place: Omit<PartPlace, 'isAfterText'>,
    depth: number,
  ): void => {
    if (!Array.isArray(part) || depth > DEPTH_MAX || ++parts > PARTS_MAX) return
    // In a multipart, the parts come first, and the subtype follows.
    if (Array.isArray(part[0])) {
      const end = part.findIndex(child => !Array.isArray(child))
      const parent = `multipart/${end < 0 ? '' : (textOf(part[end]) ?? '')}`.toLowerCase()
      const isInAlternative = place.isInAlternative || parent === 'multipart/alternative'
      for (const [index, child] of part.slice(0, end < 0 ? part.length : end).entries())
        look(child, { parent, isFirst: index === 0, isInAlternative }, depth + 1)
      return
    }
    const traits = traitsOf(part)
    const isText = bodyHalfOf(traits, { ...place, isAfterText }) !== null
    isAfterText ||= isText
    shown.hasCalendar ||= traits.type === CALENDAR_TYPE
    shown.hasAttachments ||= !isText && countsAsAttachment(traits, { ...place, isAfterText })
  }
  look(structure, { parent: null, isFirst: false, isInAlternative: false }, 0)
  return shown
}

/** The properties of a part in BODYSTRUCTURE that is not a multipart. */
function traitsOf(part: ImapAttribute[]): PartTraits {
  const type = `${textOf(part[0]) ?? ''}/${textOf(part[1]) ?? ''}`.toLowerCase()
  const disposition = part[dispositionIndex(type)]
  const parameters = new Map([
    ...pairsOf(part[2]),
    ...(Array.isArray(disposition) ? pairsOf(disposition[1]) : []),
  ])
  return {
    // Some servers repeat an invalid type.
    type: type === '/' || type === 'text/' ? '' : type,
    disposition: (Array.isArray(disposition) ? (textOf(disposition[0]) ?? '') : '').toLowerCase(),
    hasFileName: [...parameters].some(
      ([name, value]) => /^(?:FILE)?NAME(?:\*|$)/.test(name) && textOf(value),
    ),
    hasContentId: Boolean(textOf(part[3])),
  }
}

/** Text parts have a line count before the extension data; messages also have an envelope and a structure. */
function dispositionIndex(type: string): number {
  if (type.startsWith('text/')) return 9
  return type === 'message/rfc822' || type === 'message/global' ? 11 : 8
}
