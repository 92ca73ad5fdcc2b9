import type { MailboxRole } from '../mailbox-role.ts'
import { ROLE_NAMES } from './role-names.ts'

/** RFC 6154 section 2, RFC 8457 (\Important), and the spellings of XLIST. */
const ROLE_BY_ATTRIBUTE = new Map<string, MailboxRole>([
  ['\\sent', 'sent'],
  ['\\drafts', 'drafts'],
  ['\\trash', 'trash'],
  ['\\junk', 'junk'],
  ['\\spam', 'junk'],
  ['\\archive', 'archive'],
  ['\\all', 'all'],
  ['\\allmail', 'all'],
  ['\\important', 'important'],
])

/** The properties of a listed mailbox that show its role. */
export interface RoleTraits {
  isInbox: boolean
  /** The last part of the path. */
  name: string
  /** Whether it is at the top level of the account: deeper down a name means little. */
  isTop: boolean
  attributes: ReadonlySet<string>
  isSelectable: boolean
}

/**
 * The roles of mailboxes, in the same order. Each role except `custom` is given once: to the first mailbox with its
 * attribute, otherwise to the mailbox with the earliest of the role's known names.
 */
export function assignRoles(mailboxes: readonly RoleTraits[]): MailboxRole[] {
  const roles: MailboxRole[] = mailboxes.map(({ isInbox }) => (isInbox ? 'inbox' : 'custom'))
  const taken = new Set<MailboxRole>()
  for (const [index, { attributes, isSelectable }] of mailboxes.entries()) {
    if (roles[index] !== 'custom' || !isSelectable) continue
    for (const attribute of attributes) {
      const role = ROLE_BY_ATTRIBUTE.get(attribute.toLowerCase())
      if (!role || taken.has(role)) continue
      roles[index] = role
      taken.add(role)
      break
    }
  }
  for (const [role, names] of Object.entries(ROLE_NAMES)) {
    if (!isRole(role) || taken.has(role)) continue
    const index = findNamed(mailboxes, roles, names)
    if (index !== null) roles[index] = role
  }
  return roles
}

function isRole(role: string): role is keyof typeof ROLE_NAMES {
  return role in ROLE_NAMES
}

function findNamed(
  mailboxes: readonly RoleTraits[],
  roles: readonly MailboxRole[],
  names: readonly string[],
): number | null {
  let best: { index: number; rank: number } | null = null
  for (const [index, { name, isTop, isSelectable }] of mailboxes.entries()) {
    if (roles[index] !== 'custom' || !isTop || !isSelectable) continue
    const rank = names.indexOf(name.normalize('NFC').trim().toLowerCase())
    if (rank >= 0 && (!best || rank < best.rank)) best = { index, rank }
  }
  return best?.index ?? null
}
