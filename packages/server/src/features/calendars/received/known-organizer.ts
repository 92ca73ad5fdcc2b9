import type { Db } from '../../../database/pool.ts'
import { isPublicMailDomain } from '../../../providers/public-mail-domain.ts'
import { hasContactAddress } from '../../contacts/contacts/store.ts'
import { hasWrittenTo } from '../../mail/messages/written-to.ts'

/**
 * Whether a person is known to an account: it has written to that address, has it among its contacts, or shares its domain, unless
 * anybody may have an address there. Addresses are as `comparedAddress` has them.
 */
export async function isKnown(
  db: Db,
  { accountId, own }: { accountId: string; own: ReadonlySet<string> },
  address: string,
): Promise<boolean> {
  const domain = domainOf(address)
  const isColleague = !isPublicMailDomain(domain) && [...own].some(one => domainOf(one) === domain)
  return (
    isColleague ||
    (await hasContactAddress(db, accountId, address)) ||
    (await hasWrittenTo(db, accountId, address))
  )
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)
