/** The kinds of data by which an account is followed. Each that has a follower has a row in `account_half`. */
export type HalfKind = 'mail' | 'calendar' | 'contacts'

/** The kinds that are followed. A new account gets a half of each. */
export const FOLLOWED_KINDS: readonly HalfKind[] = ['mail']

/** Every kind, for what reaches all of them, such as a grant. */
export const ALL_KINDS: readonly HalfKind[] = ['mail', 'calendar', 'contacts']
