/** Checks the tokens by which a provider proves its pushes. */
export interface PushTokens {
  /**
   * The address of the service account as which the provider signed the token for this audience; null if the token does
   * not hold. Throws `unavailable` if the provider's keys cannot be read now.
   */
  signerOf(token: string, audience: string): Promise<string | null>
}
