export const MAILBOX_ROLES = [
  'inbox',
  'sent',
  'drafts',
  'trash',
  'junk',
  'archive',
  'all',
  'important',
  'custom',
] as const
export type MailboxRole = (typeof MAILBOX_ROLES)[number]
export type MailboxKind = 'folder' | 'label'

/** The role that a stored word names. */
export function roleOf(word: string): MailboxRole {
  return MAILBOX_ROLES.find(role => role === word) ?? 'custom'
}
