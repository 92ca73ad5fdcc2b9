import { html } from '../../../kit/html.ts'
import { renderPublicPage } from '../../../pages/public-page.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { FlowEnd } from '../connect-sessions/flow-parts.ts'

/** Explains that an administrator must approve the app first, with the link to pass on. */
export function unapprovedPage({
  approvalUrl,
  url,
  tenantName,
  provider,
}: Extract<FlowEnd, { outcome: 'unapproved' }>): string {
  const { name } = signInAbilitiesOf(provider)
  return renderPublicPage({
    heading: 'Your administrator must approve this first',
    content: html`<p>
        Your organization lets only administrators decide which services may use its mailboxes at ${name}.
        Nothing was connected.
      </p>
      <p>
        Send this link to an administrator of your organization. It leads to a page of ${name} that shows what
        <strong>${tenantName}</strong> asks for:
      </p>
      <p><a href="${approvalUrl}" rel="noreferrer">${approvalUrl}</a></p>
      <p>When it is approved, ask <strong>${tenantName}</strong> for a new link, and sign in again.</p>
      <p><a class="button" href="${url}">Go back to ${tenantName}</a></p>
      <p class="soft">Code: <code>access_denied</code></p>`,
  })
}

/** Thanks an administrator who has approved the app. */
export function approvedPage(): string {
  return renderPublicPage({
    heading: 'Thank you for the approval',
    content: html`<p>
        People of your organization can connect their mailboxes now. Tell those who asked you to sign in
        again.
      </p>
      <p>There is nothing more to do here. You can close this window.</p>`,
  })
}

/** Answers an administrator who comes back without an approval. */
export function notApprovedPage(): string {
  return renderPublicPage({
    heading: 'The approval was not given',
    content: html`<p>
      Nothing was changed. People of your organization cannot connect their mailboxes until an administrator
      approves it. You can open the link again at any time.
    </p>`,
  })
}
