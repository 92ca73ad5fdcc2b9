import type { User } from './users.ts'

/** A message on its way to a user. */
export interface Mail {
  readonly message: Uint8Array
  /** Address of the user of the sandbox who sent it; null for mail from outside. */
  readonly from: string | null
}

/** The mailboxes of a provider, as the post office uses them. */
export interface Mailboxes {
  /** Finds the user of an address that is not the user's own one, such as an alias. */
  findByAlias(address: string): User | null
  /** Puts a message into a user's mailbox, from outside byte for byte. Returns its ids. */
  receive(user: User, mail: Mail): object
}

/** Delivers mail among the users of all providers. */
export interface PostOffice {
  /** The user whom an address reaches, at any provider. */
  findUser(address: string): User | null
  /** Whether the address has the domain of a user: mail to an unknown address there bounces. */
  isLocal(address: string): boolean
  /** Delivers a message to a user. Returns the ids that it has there. */
  deliver(user: User, mail: Mail): object
}

/** `mailboxes` are those of each provider, by its name. */
export function openPostOffice(
  users: { find(email: string): User | null; list(): User[] },
  mailboxes: ReadonlyMap<string, Mailboxes>,
): PostOffice {
  return {
    findUser(address) {
      const user = users.find(address)
      if (user) return user
      for (const one of mailboxes.values()) {
        const found = one.findByAlias(address)
        if (found) return found
      }
      return null
    },
    isLocal: address => users.list().some(({ email }) => domainOf(email) === domainOf(address)),
    deliver(user, mail) {
      const own = mailboxes.get(user.provider)
      if (!own) throw new Error(`the provider ${user.provider} is not played`)
      return own.receive(user, mail)
    },
  }
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase()
