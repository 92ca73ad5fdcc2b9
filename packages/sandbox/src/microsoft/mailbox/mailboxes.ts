import { InvalidInput } from '../../world/invalid-input.ts'
import type { User } from '../../world/users.ts'
import type { Mailbox } from './mailbox.ts'

/** The mailboxes of all users. */
export interface MailboxStore {
  /** Adds a user's mailbox, whose first mail `fill` adds as soon as somebody asks for the mailbox. */
  add(user: User, mailbox: Mailbox, fill: () => void): void
  /** Throws `InvalidInput` if the user has none. */
  of(user: User): Mailbox
  /** All mailboxes, also those without their first mail. */
  list(): Mailbox[]
}

/** Mailboxes are filled late, so that a sandbox begins quickly though few of its users are asked for. */
export function openMailboxes(): MailboxStore {
  const mailboxes = new Map<string, Mailbox>()
  const unfilled = new Map<Mailbox, () => void>()
  return {
    add(user, mailbox, fill) {
      mailboxes.set(user.email, mailbox)
      unfilled.set(mailbox, fill)
    },
    of(user) {
      const mailbox = mailboxes.get(user.email)
      if (!mailbox) throw new InvalidInput(`${user.email} has no mailbox.`)
      const fill = unfilled.get(mailbox)
      if (fill) {
        unfilled.delete(mailbox)
        silently(mailbox, fill)
      }
      return mailbox
    },
    list: () => [...mailboxes.values()],
  }
}

/** Changes a mailbox without calling its listeners. */
function silently(mailbox: Mailbox, change: () => void): void {
  const listeners = [...mailbox.listeners]
  const ofContacts = [...mailbox.contacts.listeners]
  mailbox.listeners.clear()
  mailbox.contacts.listeners.clear()
  change()
  for (const listener of listeners) mailbox.listeners.add(listener)
  for (const listener of ofContacts) mailbox.contacts.listeners.add(listener)
}
