import type { Random } from './random.ts'

/** Addresses of these domains belong to persons; all others to the organization of their domain. */
const PERSONAL_DOMAINS: ReadonlySet<string> = new Set(['gmail.test', 'gmail.com', 'googlemail.com'])

export interface User {
  /** 21 digits, the `sub` of ID tokens. */
  readonly id: string
  readonly email: string
  readonly name: string
  /** The organization's domain (`hd`); null for a person's own account. */
  readonly organization: string | null
  suspended: boolean
}

export interface Users {
  add(email: string, name?: string): User
  /** Addresses are compared without regard to case. */
  find(email: string): User | null
  findById(id: string): User | null
  list(): User[]
}

export function openUsers(random: Random): Users {
  const byEmail = new Map<string, User>()
  return {
    add(email, name) {
      const [local = '', domain = ''] = email.toLowerCase().split('@')
      const user: User = {
        id: random.digits(21),
        email: email.toLowerCase(),
        name: name ?? local.charAt(0).toUpperCase() + local.slice(1),
        organization: PERSONAL_DOMAINS.has(domain) ? null : domain,
        suspended: false,
      }
      byEmail.set(user.email, user)
      return user
    },
    find: email => byEmail.get(email.toLowerCase()) ?? null,
    findById: id => [...byEmail.values()].find(user => user.id === id) ?? null,
    list: () => [...byEmail.values()],
  }
}
