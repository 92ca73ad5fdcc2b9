/** An address that the provider lets the account send from. */
export interface OfferedIdentity {
  address: string
  /** Null if the provider has none. */
  name: string | null
  /** The signature that was set at the provider, as HTML; null if there is none. */
  signatureHtml: string | null
  /** Whether it is the address of the account itself. */
  isPrimary: boolean
}

/** The most identities that a list has. Further ones are left out. */
export const OFFERED_IDENTITIES_MAX = 100

/** Lists the addresses that an account may send from. */
export interface IdentityProvider {
  /** All that are verified. Throws `ProviderFailure`: `scope_missing` if the account may not read them. */
  list(): Promise<OfferedIdentity[]>
}
