/** The vocabulary of mailboxes that others share with the user of an account. Methods throw only `ProviderFailure`. */

/** A mailbox that the user may open. */
export interface SharedMailbox {
  /** The provider's lasting id of the mailbox, with the name of the provider in front. It does not depend on the address. */
  subject: string
  /** The key of its inbox, which is the same for its own user. */
  inboxKey: string
}

export interface SharingProvider {
  /** @returns null if the user may not open a mailbox of this address, or there is none */
  find(address: string, signal: AbortSignal): Promise<SharedMailbox | null>
}
