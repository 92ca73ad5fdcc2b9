import { cleanLine } from '../../kit/mime/text.ts'
import type { RemoteMailbox } from '../mail.ts'
import { decodeMailboxName } from './names.ts'
import { MESSAGES_MAX } from './open-mailbox.ts'
import { assignRoles } from './roles.ts'

/** Maximum number of mailboxes per account, including added parents; the rest is left out. */
export const MAILBOXES_MAX = 10_000
/**
 * Maximum length of a whole name on the wire, and in UTF-8: an index of PostgreSQL accepts at most 2,704 bytes.
 */
export const NAME_BYTES_MAX = 1000
const LEVELS_MAX = 100
/** Maximum length of all names of an account together. */
const NAMES_LENGTH_MAX = 1_000_000
/** Replaces a slash inside a name if the server uses another separator: it would look like another level. */
const SLASH_IN_NAME = '\u2215'

export interface ListedMailbox {
  /** The name on the wire. */
  wireName: string
  /** Null if the server has no hierarchy. */
  separator: string | null
  attributes: ReadonlySet<string>
}

export interface MailboxStatus {
  messages: number | null
  unseen: number | null
  uidNext: number | null
  uidValidity: number | null
  highestModseq: string | null
  mailboxId: string | null
}

/** RFC 2342: the prefix of the account's own mailboxes, and prefixes of other people's mailboxes. */
export interface Namespaces {
  personalPrefix: string
  foreignPrefixes: string[]
}

export interface ArrangedMailbox {
  mailbox: RemoteMailbox
  wireName: string
  /** Null if the server has no hierarchy. */
  separator: string | null
  isSelectable: boolean
}

export interface Arrangement {
  /** Parents come before children. */
  mailboxes: ArrangedMailbox[]
  /** Number of listed mailboxes beyond the limits. Mailboxes with too many messages are included, without a source. */
  leftOut: number
}

interface Draft {
  key: string
  wireName: string
  segments: string[]
  separator: string | null
  attributes: ReadonlySet<string>
  isSelectable: boolean
}

/** The mailboxes of an account from the server's list, with missing parents added. */
export function arrangeMailboxes(
  listed: readonly ListedMailbox[],
  namespaces: Namespaces,
  statusOf: (wireName: string) => MailboxStatus | null,
): Arrangement {
  const { drafts, leftOut } = draftWithinLimits(listed, namespaces)
  const ordered = [...drafts.values()].toSorted((a, b) => a.segments.length - b.segments.length)
  const roles = assignRoles(
    ordered.map(({ key, segments, attributes, isSelectable }) => ({
      isInbox: key === 'INBOX',
      name: segments.at(-1) ?? '',
      // Many servers keep everything below INBOX without reporting a namespace.
      isTop: segments.length === 1 || (segments.length === 2 && segments[0]?.toUpperCase() === 'INBOX'),
      attributes,
      isSelectable,
    })),
  )
  let tooLarge = 0
  const mailboxes = ordered.map((draft, index): ArrangedMailbox => {
    const status = draft.isSelectable ? statusOf(draft.wireName) : null
    const isTooLarge = (status?.messages ?? 0) > MESSAGES_MAX
    if (isTooLarge) tooLarge++
    return {
      wireName: draft.wireName,
      separator: draft.separator,
      isSelectable: draft.isSelectable,
      mailbox: {
        key: draft.key,
        providerId: status?.mailboxId ?? null,
        name: display(draft.segments.at(-1) ?? ''),
        path: draft.segments.map(segment => display(segment).replaceAll('/', SLASH_IN_NAME)).join('/'),
        parentKey: parentKey(draft, namespaces),
        role: roles[index] ?? 'custom',
        kind: 'folder',
        totalCount: status?.messages ?? null,
        unreadCount: status?.unseen ?? null,
        source: draft.isSelectable && !isTooLarge ? draft.key : null,
        state: status && { ...status },
      },
    }
  })
  return { mailboxes, leftOut: leftOut + tooLarge }
}

/** The listed mailboxes and their parents by key, as many as the limits allow, the inbox first. */
function draftWithinLimits(
  listed: readonly ListedMailbox[],
  namespaces: Namespaces,
): { drafts: Map<string, Draft>; leftOut: number } {
  const drafts = new Map<string, Draft>()
  let namesLength = 0
  let leftOut = 0
  const add = (added: readonly Draft[]) => {
    const length = added.reduce((sum, { key }) => sum + key.length, namesLength)
    if (drafts.size + added.length > MAILBOXES_MAX || length > NAMES_LENGTH_MAX) return false
    namesLength = length
    for (const draft of added) drafts.set(draft.key, draft)
    return true
  }
  for (const row of listed.toSorted((a, b) => Number(isInbox(b.wireName)) - Number(isInbox(a.wireName)))) {
    const draft = toDraft(row, namespaces)
    if (!draft || drafts.has(draft.key)) continue
    if (isBeyondLimits(draft) || !add([draft])) leftOut++
  }
  for (const draft of [...drafts.values()].toSorted((a, b) => a.segments.length - b.segments.length)) {
    if (add(missingParents(drafts, draft, namespaces))) continue
    drafts.delete(draft.key)
    leftOut++
  }
  return { drafts, leftOut }
}

function isBeyondLimits({ key, wireName, segments }: Draft): boolean {
  return (
    wireName.length > NAME_BYTES_MAX ||
    Buffer.byteLength(key) > NAME_BYTES_MAX ||
    segments.length > LEVELS_MAX
  )
}

function isInbox(wireName: string): boolean {
  return wireName.toUpperCase() === 'INBOX'
}

/** Null for names that no command can contain, and for other people's mailboxes. */
function toDraft(
  { wireName, separator, attributes }: ListedMailbox,
  { personalPrefix, foreignPrefixes }: Namespaces,
): Draft | null {
  if (wireName === '' || /[\u0000\r\n]/.test(wireName)) return null
  const isTheInbox = isInbox(wireName)
  if (!isTheInbox && foreignPrefixes.some(prefix => `${wireName}${separator ?? ''}`.startsWith(prefix)))
    return null
  const key = isTheInbox ? 'INBOX' : decodeMailboxName(wireName)
  // Some servers list the root of a namespace as a mailbox.
  if (!isTheInbox && key === personalPrefix) return null
  if (/\u0000/.test(key) || !key.isWellFormed()) return null
  const traits = new Set([...attributes].map(attribute => attribute.toLowerCase()))
  return {
    key,
    wireName: isTheInbox ? 'INBOX' : wireName,
    segments: segmentsOf(key, separator, personalPrefix),
    separator,
    attributes,
    isSelectable: !traits.has('\\noselect') && !traits.has('\\nonexistent'),
  }
}

function segmentsOf(key: string, separator: string | null, personalPrefix: string): string[] {
  if (key === 'INBOX') return ['INBOX']
  const name =
    personalPrefix !== '' && key.startsWith(personalPrefix) ? key.slice(personalPrefix.length) : key
  const segments = separator ? name.split(separator).filter(segment => segment !== '') : [name]
  return segments.length > 0 ? segments : [name]
}

function parentKey({ key, separator, segments }: Draft, { personalPrefix }: Namespaces): string | null {
  if (separator === null || segments.length < 2) return null
  const parent = key.slice(0, key.lastIndexOf(separator))
  if (parent === '' || `${parent}${separator}` === personalPrefix) return null
  return parent.toUpperCase() === 'INBOX' ? 'INBOX' : parent
}

function missingParents(drafts: ReadonlyMap<string, Draft>, draft: Draft, namespaces: Namespaces): Draft[] {
  const parents: Draft[] = []
  for (let child = draft; ;) {
    const key = parentKey(child, namespaces)
    if (key === null || drafts.has(key)) return parents
    child = {
      key,
      wireName: child.wireName.slice(0, child.wireName.lastIndexOf(child.separator ?? '')),
      segments: child.segments.slice(0, -1),
      separator: child.separator,
      attributes: new Set(),
      isSelectable: false,
    }
    parents.push(child)
  }
}

/** The owner chose the name, but control characters in it can only be malicious. */
function display(segment: string): string {
  const shown = segment.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd')
  return cleanLine(shown, NAME_BYTES_MAX) || '\ufffd'
}
