import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import type { Limits } from '../../../limits/limits.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import type { SignIn as MailSignIn } from '../accounts/imap-servers.ts'
import type { OAuthClients } from '../../../accounts/apps/clients.ts'
import type { EndServices } from './end.ts'
import type { LoginWindow } from './login-window.ts'

/** End of a request of a flow. */
export type FlowEnd =
  /** The URL to which the browser goes (303). */
  | { outcome: 'returned'; url: string }
  /**
   * The flow failed since an administrator must approve the app first.
   * @property approvalUrl where the administrator does so
   * @property url where the browser would have gone
   */
  | { outcome: 'unapproved'; approvalUrl: string; url: string; tenantName: string; provider: OAuthProvider }
  /** An administrator comes back from the page of the provider. Nothing has changed. */
  | { outcome: 'approved' }
  | { outcome: 'not_approved' }
  /** The request belongs to no flow, and nothing has changed. */
  | { outcome: 'invalid' }

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
