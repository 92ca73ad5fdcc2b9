import type { OAuthProvider } from './sign-in.ts'

/** A kind of data that an account may have. */
export type FollowedData = 'mail' | 'calendar' | 'contacts'

/** The kind of an account: by which interface its mailbox is reached. */
export type AccountKind = 'gmail' | 'graph' | 'imap'

/**
 * Abilities in which accounts of a kind differ from others. Features decide by this, and never by the name of a kind.
 */
export interface Abilities {
  /** The provider at which users of such accounts sign in. Null: an account has a password. */
  signInAt: OAuthProvider | null
  /** Whether it offers the addresses to send from itself, so that none can be added here. */
  offersAddresses: boolean
  /** Whether the name of a mailbox may contain `/`. */
  allowsSlash: boolean
  /** Searches of an account in a minute at the provider. Null: they are not counted. */
  searchesPerMinute: number | null
  /** Whether calendars and contacts come with the mailbox. */
  hasCalendars: boolean
  /** The kinds of data that are followed: those that its `endpoints` name in `connections/kinds/`. */
  followed: readonly FollowedData[]
  /** Whether its user can open mailboxes of others, so that they can be added here. */
  hasSharedMailboxes: boolean
  /** Whether organizers may let their guests change an event, so that the provider decides who may. */
  guestsMayChange: boolean
}

const ABILITIES: Readonly<Record<AccountKind, Abilities>> = {
  gmail: {
    signInAt: 'google',
    offersAddresses: true,
    allowsSlash: true,
    // Each costs up to a tenth of the quota that a user has in a minute.
    searchesPerMinute: 60,
    hasCalendars: true,
    followed: ['mail', 'calendar', 'contacts'],
    hasSharedMailboxes: false,
    guestsMayChange: true,
  },
  graph: {
    signInAt: 'microsoft',
    offersAddresses: false,
    allowsSlash: false,
    searchesPerMinute: null,
    hasCalendars: true,
    followed: ['mail', 'calendar', 'contacts'],
    hasSharedMailboxes: true,
    guestsMayChange: false,
  },
  imap: {
    signInAt: null,
    offersAddresses: false,
    allowsSlash: false,
    searchesPerMinute: null,
    hasCalendars: false,
    followed: ['mail', 'calendar', 'contacts'],
    hasSharedMailboxes: false,
    guestsMayChange: false,
  },
}

// The keys of a record lose their type.
export const ACCOUNT_KINDS = Object.keys(ABILITIES) as readonly AccountKind[]

/** The kinds of accounts, and what is followed of each. */
export function followedByKind(): Array<{ kind: AccountKind; data: FollowedData }> {
  return ACCOUNT_KINDS.flatMap(kind => ABILITIES[kind].followed.map(data => ({ kind, data })))
}

export function abilitiesOf(kind: AccountKind): Abilities {
  return ABILITIES[kind]
}

/** Abilities in which signing in at a provider differs from others. */
export interface SignInAbilities {
  /** The name of the provider, for people. */
  name: string
  /** The kind of account that a sign-in makes. */
  makes: AccountKind
  /** The cloud of an app or a sign-in for which none is named. Null: the provider has one cloud only. */
  defaultCloud: 'global' | null
  /** Whether an app may prove itself by a certificate in place of a secret. */
  takesCertificates: boolean
  /** Whether an app may name a topic to which changes of its mailboxes are published. */
  publishesToTopics: boolean
  /** Whether it posts changes of mailboxes to the base address, without anything being set up. */
  pushesToBase: boolean
  /**
   * Scope of a revocation: everything that the user granted to the app, or nothing, since the provider cannot revoke.
   */
  revokingEnds: 'all_of_app' | 'nothing'
}

const SIGN_IN_ABILITIES: Readonly<Record<OAuthProvider, SignInAbilities>> = {
  google: {
    name: 'Google',
    makes: 'gmail',
    defaultCloud: null,
    takesCertificates: false,
    publishesToTopics: true,
    pushesToBase: false,
    revokingEnds: 'all_of_app',
  },
  microsoft: {
    name: 'Microsoft',
    makes: 'graph',
    defaultCloud: 'global',
    takesCertificates: true,
    publishesToTopics: false,
    pushesToBase: true,
    revokingEnds: 'nothing',
  },
}

export function signInAbilitiesOf(provider: OAuthProvider): SignInAbilities {
  return SIGN_IN_ABILITIES[provider]
}

/** The providers that post changes of mailboxes to the base address. */
export function providersThatPush(): OAuthProvider[] {
  return Object.entries(SIGN_IN_ABILITIES).flatMap(([provider, { pushesToBase }]) =>
    // The entries of a record lose the type of its keys.
    pushesToBase ? [provider as OAuthProvider] : [],
  )
}
