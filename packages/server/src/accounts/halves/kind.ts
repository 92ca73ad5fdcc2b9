/** The kinds of data by which an account is followed. Each has a row in `account_half` once it is switched on. */
export type HalfKind = 'mail' | 'calendar' | 'contacts'

/** The kinds besides mail, each with the setting that switches it on. An account always has the half of its mail. */
export const SWITCHES = { calendar: 'calendarEnabled', contacts: 'contactsEnabled' } as const

export type OtherKind = keyof typeof SWITCHES

/** Every kind, for what reaches all of them, such as a grant. */
export const ALL_KINDS: readonly HalfKind[] = ['mail', 'calendar', 'contacts']
