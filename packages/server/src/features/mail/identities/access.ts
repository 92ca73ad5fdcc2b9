import type { AddressInput } from '@waxwing/contract/mail/address-input.ts'
import type { Signature } from '@waxwing/contract/mail/identities.ts'
import type { Db } from '../../../database/pool.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findOwnSignatures } from '../mail-settings/store.ts'
import { findIdentityByAddress } from './store.ts'

/** The sender that From of a message shows, and the signature. */
export interface Sender {
  identityId: string
  /** As the identity has it: the domain may be written in any script. */
  address: string
  name: string | null
  signature: Signature | null
}

/**
 * The identity that a message is sent from; without `from`, the account's own address. A name in `from` is shown in
 * place of the identity's. Refuses any other address: `from_not_allowed`. Call `refreshIdentities` before.
 * @param ownSignature the signature of the account's own address, if it was read
 */
export async function requireSender(
  db: Db,
  account: Pick<AccountRow, 'id' | 'email' | 'display_name'>,
  from: AddressInput | null,
  ownSignature?: Signature | null,
): Promise<Sender> {
  if (from === null || comparedAddress(from.address) === comparedAddress(account.email)) {
    return {
      identityId: account.id,
      address: account.email,
      name: from?.name || account.display_name,
      signature: ownSignature === undefined ? await findSignature(db, account.id) : ownSignature,
    }
  }
  const identity = (await findIdentityByAddress(db, account.id, from.address)) ?? refuse('from_not_allowed')
  const { id: identityId, address, name, signature, provider_signature } = identity
  return { identityId, address, name: from.name || name, signature: signature ?? provider_signature }
}

/** The signature of messages from the account's own address. */
async function findSignature(db: Db, accountId: string): Promise<Signature | null> {
  const { signature, providerSignature } = await findOwnSignatures(db, accountId)
  return signature ?? providerSignature
}
