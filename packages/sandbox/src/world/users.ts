import { InvalidInput } from './invalid-input.ts'

export interface User {
  /** In the form of the provider's ids, such as the `sub` of ID tokens. */
  readonly id: string
  readonly email: string
  readonly name: string
  /** Name of the provider that has the mailbox. */
  readonly provider: string
  /** Cloud of the provider that has the mailbox; null if the provider has one only. */
  readonly cloud: string | null
  /** The organization's domain; null for a person's own account. */
  readonly organization: string | null
  suspended: boolean
  /** Addresses of the users who may open the mailbox besides its own user, in small letters. */
  delegates: readonly string[]
}

export interface Users {
  /** Addresses are compared without regard to case. */
  find(email: string): User | null
  findById(id: string): User | null
  list(): User[]
}

/** The users of all providers. No two of them have the same address. */
export interface AllUsers extends Users {
  add(user: User): void
  /** The users of one provider. */
  of(provider: string): Users
}

export function openUsers(): AllUsers {
  const byEmail = new Map<string, User>()
  const lookup = (isOne: (user: User) => boolean): Users => ({
    find(email) {
      const user = byEmail.get(email.toLowerCase())
      return user && isOne(user) ? user : null
    },
    findById: id => [...byEmail.values()].find(user => user.id === id && isOne(user)) ?? null,
    list: () => [...byEmail.values()].filter(isOne),
  })
  return {
    ...lookup(() => true),
    add: user => void byEmail.set(user.email, user),
    of: provider => lookup(user => user.provider === provider),
  }
}

/** Finds a user. Throws `InvalidInput` if there is none. */
export function requireUser(users: Users, email: string): User {
  const user = users.find(email)
  if (!user) throw new InvalidInput(`There is no user ${email}.`)
  return user
}
