import type { Limits } from '../../../limits/limits.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import type { SignIn as MailSignIn } from '../accounts/imap-servers.ts'
import type { OAuthClients } from '../../../accounts/apps/clients.ts'
import type { EndServices } from './end.ts'
import type { LoginWindow } from './login-window.ts'

/** The URL to which the browser goes (303); or `invalid` if the request belongs to no flow, and nothing has changed. */
export type FlowEnd = { outcome: 'returned'; url: string } | { outcome: 'invalid' }

export interface FlowOptions extends EndServices {
  limits: Limits
  clients: OAuthClients
  signIns: SignIns
  mail: MailSignIn
  /** The longest wait for the provider at the end of a sign-in, over all calls; 30 by default. */
  exchangeSeconds?: number
}

/** Dependencies of the parts of a flow. */
export interface FlowParts extends FlowOptions {
  logins: LoginWindow
}
