const MAILBOX_ROLES = [
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

/** The role for a stored word. */
export function roleOf(word: string): MailboxRole {
  return MAILBOX_ROLES.find(role => role === word) ?? 'custom'
}
