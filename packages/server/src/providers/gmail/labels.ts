import { cleanLine } from '../../kit/mime/text.ts'
import type { MailboxRole } from '../mailbox-role.ts'
import type { Cursor, RemoteFlags, RemoteMailbox } from '../mail.ts'
import type { Label } from './resources.ts'

/** All mail of an account has one history, which is followed with one cursor. */
export const SOURCE = 'history'

/** The mailbox that the service adds: every message that is in neither Trash nor Spam. No label has this id. */
export const ALL_MAIL_KEY = 'ALL_MAIL'

/** Messages of chats are not mail. */
export const CHAT = 'CHAT'
export const DRAFT = 'DRAFT'

const ROLES: ReadonlyMap<string, MailboxRole> = new Map([
  ['INBOX', 'inbox'],
  ['SENT', 'sent'],
  [DRAFT, 'drafts'],
  ['TRASH', 'trash'],
  ['SPAM', 'junk'],
  ['IMPORTANT', 'important'],
])

/** The inbox tabs by their labels. */
export const CATEGORIES: ReadonlyMap<string, string> = new Map([
  ['CATEGORY_PERSONAL', 'personal'],
  ['CATEGORY_SOCIAL', 'social'],
  ['CATEGORY_PROMOTIONS', 'promotions'],
  ['CATEGORY_UPDATES', 'updates'],
  ['CATEGORY_FORUMS', 'forums'],
])

/** Labels beyond that are left out. Gmail allows an account 10,000. */
const MAILBOXES_MAX = 10_000
const NAME_LENGTH_MAX = 1_000

/** Whether a label is a mailbox; the others are flags, categories and Gmail's own. */
export function isMailbox({ id, type }: Pick<Label, 'id' | 'type'>): boolean {
  return type === 'user' || ROLES.has(id)
}

/** Labels that are no mailboxes in any account. */
const FLAG_LABELS = new Set(['UNREAD', 'STARRED', CHAT, ...CATEGORIES.keys()])

/** Whether the index shows this label of a message. */
export function isIndexed(label: Pick<Label, 'id' | 'type'>): boolean {
  return isMailbox(label) || FLAG_LABELS.has(label.id)
}

export function flagsOf(labelIds: readonly string[]): RemoteFlags {
  return {
    isRead: !labelIds.includes('UNREAD'),
    isFlagged: labelIds.includes('STARRED'),
    isDraft: labelIds.includes(DRAFT),
    categories: labelIds.flatMap(id => CATEGORIES.get(id) ?? []).toSorted(),
  }
}

/**
 * The mailboxes of a message with these labels.
 * @param ignored ids of the account's system labels that are no mailboxes
 */
export function mailboxKeysOf(labelIds: readonly string[], ignored: ReadonlySet<string>): string[] {
  const keys = labelIds.filter(id => !FLAG_LABELS.has(id) && !ignored.has(id))
  const isElsewhere = keys.includes('TRASH') || keys.includes('SPAM')
  return [...new Set(isElsewhere ? keys : [...keys, ALL_MAIL_KEY])]
}

/**
 * The mailboxes that labels stand for, and All Mail; parents before children.
 * @param countsOf total and unread messages of a label, as far as they are known
 */
export function toMailboxes(
  labels: readonly Label[],
  state: Cursor,
  countsOf: (id: string) => { total: number; unread: number } | null,
): { mailboxes: RemoteMailbox[]; leftOut: number } {
  const named = labels
    .filter(isMailbox)
    .map(label => ({ ...label, path: cleanLine(label.name, NAME_LENGTH_MAX) || label.id }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const kept = named.slice(0, MAILBOXES_MAX)
  const idByPath = new Map(kept.map(({ id, path }) => [path, id]))
  const mailboxes = kept.map(({ id, path }): RemoteMailbox => {
    const role = ROLES.get(id) ?? 'custom'
    const parentPath = role === 'custom' ? parentPathOf(path, idByPath) : null
    const counts = countsOf(id)
    return {
      key: id,
      providerId: id,
      name: parentPath === null ? path : path.slice(parentPath.length + 1),
      path,
      parentKey: parentPath === null ? null : (idByPath.get(parentPath) ?? null),
      role,
      kind: 'label',
      totalCount: counts?.total ?? null,
      unreadCount: counts?.unread ?? null,
      source: SOURCE,
      state,
    }
  })
  const all: RemoteMailbox = {
    key: ALL_MAIL_KEY,
    providerId: ALL_MAIL_KEY,
    name: 'All Mail',
    path: 'All Mail',
    parentKey: null,
    role: 'all',
    kind: 'label',
    totalCount: null,
    unreadCount: null,
    source: SOURCE,
    state,
  }
  return { mailboxes: [...mailboxes, all], leftOut: named.length - kept.length }
}

/** The longest name of a label before a `/`; null if there is none. A label may be there without its parent. */
function parentPathOf(path: string, idByPath: ReadonlyMap<string, string>): string | null {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const parent = path.slice(0, at)
    if (idByPath.has(parent)) return parent
  }
  return null
}
