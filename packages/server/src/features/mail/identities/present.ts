import type { Identity, Signature } from '@waxwing/contract/mail/identities.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import type { IdentityRow } from './store.ts'

/** The account's own address. Its identity has the id of the account, since every account has exactly one. */
export function presentPrimary(
  account: Pick<AccountRow, 'id' | 'email' | 'display_name'>,
  signature: Signature | null,
): Identity {
  return {
    id: account.id,
    name: account.display_name,
    address: account.email,
    source: 'primary',
    signature,
    providerSignature: null,
  }
}

export function presentCustom({ id, name, address, signature }: IdentityRow): Identity {
  return { id, name, address, source: 'custom', signature, providerSignature: null }
}
