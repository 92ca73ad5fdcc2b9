import type { Identity } from '@waxwing/contract/mail/identities.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import type { OwnSignatures } from '../mail-settings/store.ts'
import type { IdentityRow } from './store.ts'

/** The account's own address. Its identity has the id of the account, since every account has exactly one. */
export function presentPrimary(
  account: Pick<AccountRow, 'id' | 'email' | 'display_name'>,
  { signature, providerSignature }: OwnSignatures,
): Identity {
  return {
    id: account.id,
    name: account.display_name,
    address: account.email,
    source: 'primary',
    signature,
    providerSignature,
  }
}

export function presentIdentity(row: IdentityRow): Identity {
  const { id, name, address, source, signature, provider_signature: providerSignature } = row
  return { id, name, address, source, signature, providerSignature }
}
