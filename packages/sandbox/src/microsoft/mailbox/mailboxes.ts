import { InvalidInput } from '../../world/invalid-input.ts'
import type { User } from '../../world/users.ts'
import type { Mailbox } from './mailbox.ts'

/** The mailboxes of all users. */
export interface MailboxStore {
  /** Adds a user's mailbox, whose first mail `fill` adds as soon as somebody asks for the mailbox. */
  add(user: User, mailbox: Mailbox, fill: () => void): void
  /** Throws `InvalidInput` if the user has none. */
  of(user: Pick<User, 'email'>): Mailbox
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
  const restore = [
    withdrawn(mailbox.listeners),
    withdrawn(mailbox.contacts.listeners),
    withdrawn(mailbox.calendars.listeners),
  ]
  change()
  for (const each of restore) each()
}

/** Empties a set. Returns the function that fills it again. */
function withdrawn<Listener>(listeners: Set<Listener>): () => void {
  const kept = [...listeners]
  listeners.clear()
  return () => {
    for (const listener of kept) listeners.add(listener)
  }
}
