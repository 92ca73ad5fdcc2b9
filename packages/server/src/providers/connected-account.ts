import type { CalendarsProvider } from './calendars.ts'
import type { ChangingProvider } from './changing.ts'
import type { ContactsProvider } from './contacts.ts'
import type { ContentProvider } from './content.ts'
import type { IdentityProvider } from './identities.ts'
import type { MailProvider } from './mail.ts'
import type { SearchProvider } from './search.ts'
import type { SendingProvider } from './sending.ts'
import type { SharingProvider } from './sharing.ts'

/** Capabilities that the provider of an account may offer. */
export interface Capabilities {
  mail: MailProvider
  content: ContentProvider
  search: SearchProvider
  changing: ChangingProvider
  sending: SendingProvider
  identities: IdentityProvider
  sharing: SharingProvider
  contacts: ContactsProvider
  calendars: CalendarsProvider
}

export type Capability = keyof Capabilities

/** A connection to the provider of an account, with its capabilities. Disposing closes it. */
export interface ConnectedAccount extends Partial<Capabilities>, AsyncDisposable {
  /** False once the connection is of no more use. Absent if only a failure shows that. */
  readonly isOpen?: boolean
}

/** A connection to a provider that is known to offer these. */
export type Offering<C extends Capability> = Pick<Capabilities, C> & AsyncDisposable
