/** A contact as another client sees it. Its display name is its content, by which it is found. */
export interface OtherContact {
  displayName: string
  jobTitle: string | null
}

/** Another client of the contacts of an account. */
export interface OtherContacts {
  add(displayName: string): Promise<void>
  /**
   * Gives a contact another name and leaves the rest as it is; done again if someone else changes it meanwhile.
   * @returns false if it is gone
   */
  rename(from: string, to: string): Promise<boolean>
  /** @returns false if it is gone */
  remove(displayName: string): Promise<boolean>
  /** All contacts at the provider. */
  list(): Promise<OtherContact[]>
}
