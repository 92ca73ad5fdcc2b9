import type { Random } from '../world/random.ts'
import type { User } from '../world/users.ts'

/** A version 4 UUID, in small letters. */
export function guid(random: Random): string {
  const variant = random.pick(['8', '9', 'a', 'b'])
  return `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-${variant}${random.hex(3)}-${random.hex(12)}`
}

/** The `oid` of a user, of which a person's own account only has 64 bits. */
export const newObjectId = (random: Random, organization: string | null): string =>
  organization === null ? `00000000-0000-0000-${random.hex(4)}-${random.hex(12)}` : guid(random)

/** The id of a user at Graph: the `oid`, or the last 16 digits of a person's own account. */
export const graphIdOf = ({ id, organization }: Pick<User, 'id' | 'organization'>): string =>
  organization === null ? id.replaceAll('-', '').slice(-16) : id
