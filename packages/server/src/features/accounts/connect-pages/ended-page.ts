import type { ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import { html } from '../../../kit/html.ts'
import { renderPublicPage } from '../../../pages/public-page.ts'

/**
 * Texts about the end of a flow, and what the person can do about it. `TENANT` stands for the name of the tenant that
 * asked.
 */
type Ending = readonly [heading: string, advice: string]

const TENANT = '{tenant}'
const START_AGAIN = `Go back to ${TENANT}, and start again.`
const SET_UP: Ending = [
  'The sign-in is not set up correctly',
  `You cannot mend this yourself. Tell ${TENANT}, and give them the code below.`,
]
const NO_ROOM: Ending = [
  'No more mailboxes can be connected',
  `You cannot mend this yourself. Tell ${TENANT}, and give them the code below.`,
]
const SIGN_IN_FAILED: Ending = [
  'The sign-in did not work',
  `The provider did not accept it. Nothing was connected. ${START_AGAIN}`,
]

const ENDINGS: Readonly<Record<ConnectError, Ending>> = {
  access_denied: [
    'Access was not granted',
    `You, or your organization, did not allow it, so nothing was connected. ${START_AGAIN} If your organization must ` +
      'approve the app first, ask its administrator.',
  ],
  access_token_rejected: SIGN_IN_FAILED,
  account_exists: [
    'This mailbox is already connected',
    'Nothing was changed. To connect another mailbox, start again and sign in with that one.',
  ],
  account_mismatch: [
    'You signed in to another mailbox',
    'Nothing was changed. Start again, and choose the account whose mailbox is to be connected again.',
  ],
  billing_past_due: NO_ROOM,
  cancelled: [
    'Cancelled',
    `Nothing was connected, and ${TENANT} has no access to your mailbox. You can close this window. If you change your ` +
      'mind, ask there for a new link.',
  ],
  internal_error: ['Something went wrong', `Nothing was connected. ${START_AGAIN}`],
  invalid_client: SET_UP,
  invalid_grant: SIGN_IN_FAILED,
  oauth_app_secret_unreadable: SET_UP,
  plan_limit_accounts: NO_ROOM,
  provider_forbidden: [
    'This account has no mailbox that can be connected',
    'Its mail may be turned off, or your organization does not allow the access. Ask your administrator, or start ' +
      'again with another account.',
  ],
  provider_not_configured: SET_UP,
  provider_throttled: ['The provider is busy', `Nothing was connected. Wait some minutes. ${START_AGAIN}`],
  provider_unavailable: [
    'The provider does not answer',
    `Nothing was connected. Wait some minutes. ${START_AGAIN}`,
  ],
  scope_denied: [
    'A permission is missing',
    `Access to your email was not granted, so nothing was connected. ${START_AGAIN} Tick the boxes that concern your ` +
      'email.',
  ],
  scope_missing: SET_UP,
  session_expired: ['This link has expired', `Nothing was connected. Ask ${TENANT} for a new link.`],
  session_used: [
    'This link was used already',
    `Each link works once. If your mailbox is not connected yet, ask ${TENANT} for a new link.`,
  ],
  token_exchange_failed: SIGN_IN_FAILED,
}

/** Codes that would be of no use to a person. */
const PLAIN: ReadonlySet<ConnectError> = new Set(['cancelled', 'session_expired', 'session_used'])

/** A page with the reason why a flow ended without a mailbox. */
export function failedPage(error: ConnectError, tenantName: string): string {
  const [heading, advice] = ENDINGS[error]
  const parts = advice
    .split(TENANT)
    .map((part, index) => html`${index > 0 && html`<strong>${tenantName}</strong>`}${part}`)
  return renderPublicPage({
    heading,
    content: html`<p>${parts}</p>
      ${!PLAIN.has(error) && html`<p class="soft">Code: <code>${error}</code></p>`}`,
  })
}

/** A page that confirms that the mailbox is connected. It does not name the mailbox, since links are passed on. */
export function connectedPage(tenantName: string): string {
  return renderPublicPage({
    heading: 'Your mailbox is connected',
    content: html`<p>
        <strong>${tenantName}</strong> has access to it now, and begins to read it. A large mailbox can take
        some hours.
      </p>
      <p>There is nothing more to do here. You can close this window.</p>`,
  })
}

/** Answers a return from a provider that belongs to no sign-in of this browser. */
export function invalidReturnPage(): string {
  return renderPublicPage({
    heading: 'This sign-in cannot be finished here',
    content: html`<p>
        Nothing was changed by this return. The sign-in may have been started in another browser, or more than
        ten minutes ago.
      </p>
      <p>
        It may also be finished already. Then your mailbox is connected: look where you got this link before
        you start again there.
      </p>`,
  })
}

/** Answers Continue on a link that has begun as many sign-ins as it can. */
export function spentPage(tenantName: string): string {
  return renderPublicPage({
    heading: 'This link was used too often',
    content: html`<p>Ask <strong>${tenantName}</strong> for a new one.</p>`,
  })
}

/** Answers a link that is none. */
export function unknownLinkPage(): string {
  return renderPublicPage({
    heading: 'This link does not work',
    content: html`<p>
      It may be incomplete, or too old. Copy the whole link, or ask for a new one where you got it.
    </p>`,
  })
}
