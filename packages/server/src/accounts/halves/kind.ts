/** The kinds of data by which an account is followed. Each that has a follower has a row in `account_half`. */
export type HalfKind = 'mail' | 'calendar' | 'contacts'

/** The kinds that are followed. An account has the half of its mail, and gets another one once that is switched on. */
export const FOLLOWED_KINDS: readonly HalfKind[] = ['mail', 'contacts']

/** Every kind, for what reaches all of them, such as a grant. */
export const ALL_KINDS: readonly HalfKind[] = ['mail', 'calendar', 'contacts']
