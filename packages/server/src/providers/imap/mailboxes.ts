import { cleanLine } from '../../kit/mime/text.ts'
import type { RemoteMailbox } from '../provider.ts'
import { decodeMailboxName } from './names.ts'
import { assignRoles } from './roles.ts'

export const MAILBOXES_MAX = 10_000
const NAME_LENGTH_MAX = 1000
/** A slash inside a name, where the server separates by something else: it would look like another level. */
const SLASH_IN_NAME = '\u2215'

export interface ListedMailbox {
  /** As on the wire. */
  wireName: string
  /** Null where the server has no hierarchy. */
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

/** RFC 2342: where the account's own mailboxes lie, and prefixes of those that belong to others. */
export interface Namespaces {
  personalPrefix: string
  foreignPrefixes: string[]
}

export interface ArrangedMailbox {
  mailbox: RemoteMailbox
  wireName: string
}

interface Draft {
  key: string
  wireName: string
  segments: string[]
  separator: string | null
  attributes: ReadonlySet<string>
  isSelectable: boolean
}

/** The mailboxes of an account from what the server listed: parents before children, missing parents added. */
export function arrangeMailboxes(
  listed: readonly ListedMailbox[],
  namespaces: Namespaces,
  statusOf: (wireName: string) => MailboxStatus | null,
): ArrangedMailbox[] {
  const drafts = new Map<string, Draft>()
  for (const row of listed) {
    if (drafts.size >= MAILBOXES_MAX) break
    const draft = toDraft(row, namespaces)
    if (!draft || drafts.has(draft.key)) continue
    drafts.set(draft.key, draft)
  }
  for (const draft of drafts.values()) addParents(drafts, draft, namespaces)
  const ordered = [...drafts.values()].toSorted((a, b) => a.segments.length - b.segments.length)
  const roles = assignRoles(
    ordered.map(({ key, segments, attributes, isSelectable }) => ({
      isInbox: key === 'INBOX',
      name: segments.at(-1) ?? '',
      // Many servers keep everything below INBOX without telling a namespace.
      isTop: segments.length === 1 || (segments.length === 2 && segments[0]?.toUpperCase() === 'INBOX'),
      attributes,
      isSelectable,
    })),
  )
  return ordered.map((draft, index) => {
    const status = draft.isSelectable ? statusOf(draft.wireName) : null
    return {
      wireName: draft.wireName,
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
        source: draft.isSelectable ? draft.key : null,
        state: status && { ...status },
      },
    }
  })
}

/** Null for names that no command could carry, and for mailboxes of others. */
function toDraft(
  { wireName, separator, attributes }: ListedMailbox,
  { personalPrefix, foreignPrefixes }: Namespaces,
): Draft | null {
  // oxlint-disable-next-line no-control-regex
  if (wireName === '' || wireName.length > NAME_LENGTH_MAX || /[\u0000\r\n]/.test(wireName)) return null
  const isInbox = wireName.toUpperCase() === 'INBOX'
  if (!isInbox && foreignPrefixes.some(prefix => `${wireName}${separator ?? ''}`.startsWith(prefix)))
    return null
  const key = isInbox ? 'INBOX' : decodeMailboxName(wireName)
  // Some servers list the root of a namespace as a mailbox of its own.
  if (!isInbox && key === personalPrefix) return null
  // oxlint-disable-next-line no-control-regex
  if (/\u0000/.test(key) || !key.isWellFormed()) return null
  const traits = new Set([...attributes].map(attribute => attribute.toLowerCase()))
  return {
    key,
    wireName: isInbox ? 'INBOX' : wireName,
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

function addParents(drafts: Map<string, Draft>, draft: Draft, namespaces: Namespaces): void {
  let child = draft
  for (;;) {
    const key = parentKey(child, namespaces)
    if (key === null || drafts.has(key)) return
    const parent: Draft = {
      key,
      wireName: child.wireName.slice(0, child.wireName.lastIndexOf(child.separator ?? '')),
      segments: child.segments.slice(0, -1),
      separator: child.separator,
      attributes: new Set(),
      isSelectable: false,
    }
    drafts.set(key, parent)
    child = parent
  }
}

/** Names are the owner's; control characters in them are somebody's mischief. */
function display(segment: string): string {
  // oxlint-disable-next-line no-control-regex
  const shown = segment.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd')
  return cleanLine(shown, NAME_LENGTH_MAX) || '\ufffd'
}
