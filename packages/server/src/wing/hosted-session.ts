/** A session whose token replaces a credential: what it may do, and whether it still may. */
export interface HostedSession {
  id: string
  tenantId: string
  /** The accounts that it may reach, such as the one that signs in again. */
  accountIds: readonly string[]
  /** Why it can no longer be used, or null. */
  ended: 'session_expired' | 'session_used' | null
}

/** The sessions of one kind. */
export interface HostedSessions {
  /** The session of a token, or null if there is none or the token is malformed. */
  find(token: string): Promise<HostedSession | null>
}
